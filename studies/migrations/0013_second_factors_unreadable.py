from django.db import migrations
from django.db.models.functions import Length

from studies.ciphers import seal
from studies.members.two_factor import stored_recovery_code
from studies.models.accounts import APP_PURPOSE


def seal_second_factors(apps, schema_editor):
    """Encrypt the secrets of apps, and replace recovery codes by what is stored of them now."""
    devices = apps.get_model("otp_totp", "TOTPDevice").objects.filter(appdevice=None)
    for device in devices:
        sealed = seal(APP_PURPOSE, device.key)
        own = apps.get_model("studies", "AppDevice")(totpdevice_ptr=device, sealed=sealed)
        own.save_base(raw=True)  # the parent's row is there
        device.key = ""
        device.save(update_fields=["key"])
    # What is stored now has 16 characters, and codes that were typed had 8.
    codes = apps.get_model("otp_static", "StaticToken").objects.annotate(long=Length("token"))
    for token in codes.filter(long__lt=16):
        token.token = stored_recovery_code(token.token)
        token.save(update_fields=["token"])


class Migration(migrations.Migration):

    dependencies = [
        ("otp_static", "0003_add_timestamps"),
        ("studies", "0012_app_device"),
    ]

    operations = [migrations.RunPython(seal_second_factors)]
