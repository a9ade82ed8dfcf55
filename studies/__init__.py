"""Datasets, the design of studies and its steps, versions and members."""

from django import forms
from django.contrib import admin
from django.db import models
from django.forms.models import BaseInlineFormSet

# Only type checkers know that these take types: here, `ModelAdmin[Study]` becomes `ModelAdmin`.
for kind in (
    admin.ModelAdmin,
    admin.StackedInline,
    BaseInlineFormSet,
    forms.ModelForm,
    models.CharField,
):
    setattr(kind, "__class_getitem__", classmethod(lambda cls, *_: cls))  # noqa: B010
