"""The form of a study's settings, of which each step shows a part."""

from copy import copy
from typing import Any

from django import forms

from studies.design.opened_forms import OpenedModelForm
from studies.models import Study
from studies.models.currencies import currency_choices
from studies.services import R_GROWS, is_frozen
from tiebreak.similarity import SIMILARITIES

# The settings that decide whether both orders of two texts are shown the same number of times.
ORDERS = ("ratings_per_hit", "further_ratings", "further_share", "pairing")


NO_MAXIMUM = (
    "Enter for how many tasks the reward is paid. Without a maximum, whoever does a single task would"
    " earn all of it."
)


# Shown in empty fields, and never stored.
GUIDELINES_BEGIN = (
    "What makes one text better than another here, such as: Prefer the reply that answers the question.\n"
    "What does not count, and when to call it a tie, such as: Length does not count."
)
CONSENT_BEGIN = (
    "Who you are and what the answers are for, such as: We are N. N. at the University of …, and study …\n"
    "That taking part is voluntary, and where to ask, such as: Write to name@university.example."
)


class StudyDesignForm(OpenedModelForm):
    class Meta:
        model = Study
        fields = "__all__"
        help_texts = {
            "title": "Annotators see it as the heading.",
            "consent": "Text in Markdown: who you are, and how to reach you. A study can open without it, and"
            " Launch says so. Below it, annotators read what is stored about them, by how they were recruited.",
            "reward": "What one person gets for all the tasks they may do. Whoever does fewer gets"
            " their share, unless the platform makes one payment for all.",
        }
        widgets = {
            "guidelines": forms.Textarea(
                attrs={"rows": 14, "cols": 90, "placeholder": GUIDELINES_BEGIN}
            ),
            "consent": forms.Textarea(attrs={"rows": 8, "cols": 90, "placeholder": CONSENT_BEGIN}),
            "currency": forms.Select(choices=currency_choices()),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "similarity" in self.fields:  # absent if the design is frozen
            current = self.instance.similarity
            titles = {name: similarity.title for name, similarity in SIMILARITIES.items()}
            self.fields["similarity"] = forms.ChoiceField(
                choices=({current: current} | titles).items(),
                help_text="The text similarity from which separability (δ) is computed. Some"
                " similarities need additional packages, which the Generate & select page"
                " names.",
            )

    def editable_parts(self) -> set[str]:
        return set() if is_frozen(self.instance) else {"rows of the design"}

    def _check_what_the_reward_pays(self) -> None:
        """Without a maximum of tasks, whoever does a single one would earn the whole reward."""
        tasks = self.cleaned_data.get("hits_per_annotator", self.errors.get("hits_per_annotator"))
        if "hits_per_annotator" in self.fields and self.cleaned_data.get("reward") and not tasks:
            error = forms.ValidationError(NO_MAXIMUM, code="reward_without_maximum")
            self.add_error("hits_per_annotator", error)

    def clean_ratings_per_hit(self) -> int:
        wanted: int = self.cleaned_data["ratings_per_hit"]
        stored = Study.objects.filter(pk=self.instance.pk).first()
        if stored is not None and is_frozen(stored) and wanted < stored.ratings_per_hit:
            sentence = R_GROWS.format(stored.ratings_per_hit)
            raise forms.ValidationError(sentence, code="ratings_per_hit_shrinks")
        return wanted

    def clean(self) -> None:
        super().clean()
        self._check_what_the_reward_pays()
        typed, entered = copy(self.instance), [name for name in ORDERS if name in self.fields]
        for name in self.cleaned_data.keys() & set(ORDERS):
            setattr(typed, name, self.cleaned_data[name])
        if entered and not typed.shows_orders_alike:
            sentence = (
                "In a symmetric design, the number of ratings per task (R) must be even, and so must"
                " the number of further ratings, because each order of two texts is shown to half of the annotators."
            )
            self.add_error(
                entered[0], forms.ValidationError(sentence, code="symmetric_needs_even_ratings")
            )
