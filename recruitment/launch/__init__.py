"""What is looked at before annotators are let in, by topic; `services.launch_checks` lists it."""
