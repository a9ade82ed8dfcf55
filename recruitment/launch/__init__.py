"""The checks before a study opens, one module per topic; `services.launch_checks` lists them."""
