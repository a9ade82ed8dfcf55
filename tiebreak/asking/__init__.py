"""What language models are asked, and how their answers are read: samples of texts, and judges."""
