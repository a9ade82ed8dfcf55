"""The page of webhooks, for the frame of a study's pages."""

from studies.access import Right
from studies.design.steps import StudyPage, register_page

register_page(
    StudyPage("webhooks", "Webhooks", "api:webhooks", 60, Right.CHANGE, "reference/api#webhooks")
)
