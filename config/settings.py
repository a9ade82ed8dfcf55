"""All settings, read from the environment. The server does not start if a value is malformed.

Development is the default and needs no variables. With `TIEBREAK_ENV=production`, the server
refuses to start with settings that are only safe in development.
"""

import re
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
DEVELOPMENT_KEY = "development-only-key-that-production-refuses-to-start-with"

env = environ.Env()
# A file of lines such as TIEBREAK_ENV=production. What the environment has wins.
if SETTINGS_FILE := str(env.str("TIEBREAK_SETTINGS_FILE", default="")):
    if not Path(SETTINGS_FILE).is_file():
        raise ImproperlyConfigured(f"TIEBREAK_SETTINGS_FILE names no file: {SETTINGS_FILE!r}.")
    env.read_env(SETTINGS_FILE)


def _choice(name: str, allowed: tuple[str, ...], default: str) -> str:
    value = str(env.str(name, default=default))
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value


def _boolean(name: str, default: bool) -> bool:
    value = _choice(name, ("1", "0", "true", "false", "on", "off"), "1" if default else "0")
    return value in {"1", "true", "on"}


def _integer(name: str, default: int, minimum: int) -> int:
    text = str(env.str(name, default=str(default)))
    if not text.isdecimal() or int(text) < minimum:
        raise ImproperlyConfigured(
            f"{name} must be a whole number of at least {minimum}, not {text!r}."
        )
    return int(text)


def _rate(name: str, default: str) -> str:
    value = str(env.str(name, default=default))
    if not re.fullmatch(r"[1-9][0-9]*/(sec|min|hour|day)", value):
        raise ImproperlyConfigured(f"{name} must be a rate such as 600/min, not {value!r}.")
    return value


PORTS = {"http": 80, "https": 443}


def _split(address: str) -> SplitResult | None:
    """Return the parts of a URL, or None if it is malformed."""
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _origins(name: str) -> list[str]:
    origins = [str(origin) for origin in env.list(name, default=[])]
    for origin in origins:
        parts = _split(origin)
        is_plain = parts is not None and parts.scheme in PORTS and parts.path in {"", "/"}
        if parts is None or not is_plain or not parts.netloc:
            raise ImproperlyConfigured(
                f"{name} must list origins such as https://rate.example.org, not {origin!r}."
            )
    return origins


def _hosts(name: str) -> list[str]:
    hosts = [str(host).lower() for host in env.list(name, default=[])]
    for host in hosts:
        if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?", host):
            raise ImproperlyConfigured(
                f"{name} must list hosts such as hooks.example.org, not {host!r}."
            )
    return hosts


def _address(name: str) -> str:
    """Return an origin, maybe with a path, without a trailing slash; "" if none is set."""
    value = str(env.str(name, default="")).rstrip("/")
    parts = _split(value)
    is_origin = parts is not None and parts.scheme in PORTS and parts.hostname
    has_more = parts is None or parts.query or parts.fragment or "@" in parts.netloc
    is_plain = parts is not None and re.fullmatch(r"(/[\w.~-]+)*", parts.path, re.ASCII)
    if value and (not is_origin or has_more or not is_plain):
        raise ImproperlyConfigured(
            f"{name} must be one address such as https://rate.example.org or"
            f" https://example.org/tiebreak, not {value!r}."
        )
    return value


def _days(name: str, kinds: tuple[str, ...]) -> dict[str, int]:
    """Return the days in a value such as ids=365 addresses=30; a kind that is not named has none."""
    entries = [entry.partition("=") for entry in str(env.str(name, default="")).split()]
    days = {kind: int(n) for kind, _, n in entries if kind in kinds and n.isdecimal() and int(n)}
    if len(days) < len(entries):
        raise ImproperlyConfigured(
            f"{name} must be days such as ids=365 addresses=30, each of {', '.join(kinds)} once."
        )
    return days


def _pair(name: str) -> tuple[str, str]:
    """Return the two parts of a value such as groups=researchers; empty ones if there is none."""
    value = str(env.str(name, default=""))
    first, _, second = value.partition("=")
    if value and not (first and second):
        raise ImproperlyConfigured(f"{name} must be such as groups=researchers, not {value!r}.")
    return first, second


def _options(label: str) -> dict[str, Any]:
    return _object(f"TIEBREAK_MODEL_OPTIONS_{label.upper()}", '{"timeout_s": 600}')


def _object(name: str, example: str, known: Collection[str] = ()) -> dict[str, Any]:
    """Return a JSON object, which has only ``known`` keys if there are any."""
    try:
        value = env.json(name, default={})
    except ValueError:
        value = None
    if not isinstance(value, dict) or (known and value.keys() - {*known}):
        raise ImproperlyConfigured(f"{name} must be a JSON object such as {example}.")
    return value


def _servers(name: str) -> dict[str, dict[str, Any]]:
    """Return the arguments of `tiebreak.gateway.ModelSettings` for each server, by label."""
    servers: dict[str, dict[str, Any]] = {}
    for entry in env.list(name, default=[]):
        label, _, address = str(entry).partition("=")
        settings = _server(label, address) if label.isidentifier() else None
        # `fake` is the name of dummy texts, and labels that differ only in case would share a key.
        is_taken = label.casefold() in {"fake", *(other.casefold() for other in servers)}
        if settings is None or is_taken:
            raise ImproperlyConfigured(
                f"{name} must list servers such as gpu1=http://10.0.0.5:8000/v1 or"
                f" here=vllm:/weights/model, each with a different name, not {entry!r}."
            )
        servers[label] = settings
    return servers


def _server(label: str, address: str) -> dict[str, Any] | None:
    """Return a server's settings, or None if the address is malformed."""
    scheme, _, model = address.partition(":")
    if scheme == "vllm" and model:
        return {"provider": "vllm", "model": model, "options": _options(label)}
    parts = _split(address)
    if scheme not in PORTS or parts is None or not parts.netloc:
        return None
    has_port = re.search(r":[0-9]+$", parts.netloc)
    return {
        "provider": "http",
        "base_url": address,
        "api_key": str(env.str(f"TIEBREAK_MODEL_KEY_{label.upper()}", default="")),
        # The port is added because the gateway compares hosts including their ports.
        "allowed_hosts": (parts.netloc if has_port else f"{parts.netloc}:{PORTS[scheme]}",),
        "options": _options(label),
    }


def _email(name: str) -> dict[str, Any]:
    """Return Django's settings of the server that sends e-mails; empty if none is named."""
    address = str(env.str(name, default=""))
    try:
        return dict(env.email_url_config(address)) if address else {}
    except (ImproperlyConfigured, ValueError):  # its text may have the password
        raise ImproperlyConfigured(
            f"{name} must be an address such as smtp+tls://user:password@mail.example.org:587."
        ) from None


def _is_guessable(key: str) -> bool:
    """Whether a key is short, or made of repetitions or of an alphabet in its order."""
    steps = [ord(after) - ord(before) for before, after in pairwise(key)]
    return len(key) < 50 or len(set(zip(steps, steps[1:], steps[2:], strict=False))) < 30


PRODUCTION = _choice("TIEBREAK_ENV", ("development", "production"), "development") == "production"
DEBUG = _boolean("TIEBREAK_DEBUG", default=False)
SECRET_KEY = str(env.str("TIEBREAK_SECRET_KEY", default=DEVELOPMENT_KEY))
# Former keys still verify and decrypt, but they never sign or encrypt.
SECRET_KEY_FALLBACKS = [
    str(key) for key in env.list("TIEBREAK_SECRET_KEY_FALLBACKS", default=[]) if key
]
LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = [str(host) for host in env.list("TIEBREAK_HOSTS", default=LOOPBACK)]
CSRF_TRUSTED_ORIGINS = _origins("TIEBREAK_TRUSTED_ORIGINS")
VAR_DIR = Path(str(env.str("TIEBREAK_VAR_DIR", default=str(BASE_DIR / "var"))))

POSTGRESQL = ("postgres://", "postgresql://", "psql://", "pgsql://")
BROKERS = ("redis://", "rediss://", "amqp://", "amqps://")

if PRODUCTION:
    # A former key still opens sessions and secrets, so it has to be as good as the current one.
    for _key in (SECRET_KEY, *SECRET_KEY_FALLBACKS):
        if _key == DEVELOPMENT_KEY or _is_guessable(_key):
            raise ImproperlyConfigured(
                "Production needs its own TIEBREAK_SECRET_KEY, and in TIEBREAK_SECRET_KEY_FALLBACKS"
                " only such keys: at least 50 characters chosen at random. Create one with:"
                " python -c 'import secrets; print(secrets.token_urlsafe(50))'"
            )
    if DEBUG:
        raise ImproperlyConfigured("TIEBREAK_DEBUG must be off in production.")
    if "TIEBREAK_HOSTS" not in env.ENVIRON or not ALLOWED_HOSTS or "*" in ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "Production needs TIEBREAK_HOSTS, the host names of this server, without '*'."
        )
    if not str(env.str("TIEBREAK_DATABASE_URL", default="")).startswith(POSTGRESQL):
        raise ImproperlyConfigured(
            "Production needs TIEBREAK_DATABASE_URL, the address of a PostgreSQL database such as"
            " postgres://name:password@10.0.0.5:5432/tiebreak. SQLite is only for development."
        )
    if not str(env.str("TIEBREAK_BROKER_URL", default="")).startswith(BROKERS):
        raise ImproperlyConfigured(
            "Production needs TIEBREAK_BROKER_URL, the address of Redis or RabbitMQ such as"
            " redis://10.0.0.6:6379/0. Only such a broker reaches workers on all hosts and keeps the"
            " tasks of a killed worker."
        )
    if _boolean("TIEBREAK_TASKS_EAGER", default=False):
        raise ImproperlyConfigured(
            "TIEBREAK_TASKS_EAGER must be off in production, because otherwise pages would wait for"
            " model servers and platforms."
        )

# Monitoring on the same host asks by these names.
ALLOWED_HOSTS += [host for host in LOOPBACK if host not in ALLOWED_HOSTS]

# Address of this server in links for platforms and participants. If it is empty, as in development,
# links have the origin of the request.
TIEBREAK_PUBLIC_URL = _address("TIEBREAK_PUBLIC_URL") or (
    f"https://{ALLOWED_HOSTS[0].removeprefix('.')}" if PRODUCTION and ALLOWED_HOSTS else ""
)
# Its path, such as /tiebreak: all addresses begin with it.
SUB_PATH = urlsplit(TIEBREAK_PUBLIC_URL).path
FORCE_SCRIPT_NAME = SUB_PATH or None

INSTALLED_APPS = [
    "metrics.admin_app.ResearcherAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "jobs",
    "studies",
    "annotation",
    "machine_raters",
    "recruitment",
    "metrics",
    "api",
]

MIDDLEWARE = [
    "config.sub_path.SubPathMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.observing.ObservingMiddleware",
    "csp.middleware.CSPMiddleware",
    # Before FramingMiddleware, so that its error pages cannot be framed.
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "recruitment.framing.FramingMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "studies.members.login_throttle.KnownBrowserMiddleware",
    "studies.stray_requests.StrayRequestMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["studies.templatetags.digits", "studies.templatetags.items_names"],
        },
    },
]

# One URL sets the database, which is an SQLite file, or PostgreSQL with a connection pool.
DATABASES = {
    "default": env.db_url("TIEBREAK_DATABASE_URL", default=f"sqlite:///{VAR_DIR}/database.sqlite3")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
elif DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        pool={
            "min_size": 1,
            "max_size": _integer("TIEBREAK_DATABASE_POOL", 8, 1),
            "timeout": 20,
            # Then the next request connects anew. By default, attempts are ever rarer for 5 minutes,
            # and a request after a longer outage waits for the next of them.
            "reconnect_timeout": 5,
        },
        # PostgreSQL then plans each statement once per connection, and not for every answer.
        server_side_binding=True,
        prepare_threshold=3,
    )
    # Look at each connection that the pool lends, so that a restart of PostgreSQL costs no answers.
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # A host that is cut off or loses its power says nothing. By default, PostgreSQL would keep the locks
    # of such a web server for two hours, and a web server would wait as long for such a database. Both
    # sides notice it within 15 seconds, and a name with several addresses is tried quickly.
    _LOST_HOST = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2}
    for _name, _value in {**_LOST_HOST, "tcp_user_timeout": 15_000, "connect_timeout": 5}.items():
        DATABASES["default"]["OPTIONS"].setdefault(_name, _value)
    # Compiling a page's statement takes longer than running it, and on current disks a row found by
    # an index costs hardly more than one that is read in order.
    DATABASES["default"]["OPTIONS"].setdefault(
        "options",
        "-c jit=off -c random_page_cost=1.1 -c tcp_user_timeout=15000"
        + "".join(f" -c tcp_{_name}={_value}" for _name, _value in _LOST_HOST.items()),
    )
else:
    raise ImproperlyConfigured("TIEBREAK_DATABASE_URL must begin with sqlite: or postgres:.")
# Whoever saves a form with an error comes to the field that has it.
FORM_RENDERER = "studies.bound_fields.FormRenderer"

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # Rendered texts, in the memory of each process: about 60 MB if all are long.
    "texts": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "texts",
        "TIMEOUT": None,
        "OPTIONS": {"MAX_ENTRIES": 1500},
    },
    # What pages show of the annotators of a report: about 1 MB for 5,000 of them.
    "annotators": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "annotators",
        "TIMEOUT": 3600,
        "OPTIONS": {"MAX_ENTRIES": 20},
    },
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Password guessing leads to a temporary lockout; see `studies.members.login_throttle`.
# Whether everybody who logs in needs a second factor, or whoever turned it on.
TIEBREAK_TWO_FACTOR = _choice("TIEBREAK_TWO_FACTOR", ("optional", "required"), "optional")
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "studies.members.two_factor.PasswordBackend"
    if TIEBREAK_TWO_FACTOR == "required"
    else "django.contrib.auth.backends.ModelBackend",
    "studies.members.two_factor.SecondFactorBackend",
]
OTP_TOTP_ISSUER = "Tiebreak"
# A provider of single sign-on by OpenID Connect. Without an issuer, nobody can log in with one.
TIEBREAK_OIDC_ISSUER = _address("TIEBREAK_OIDC_ISSUER")
TIEBREAK_OIDC = bool(TIEBREAK_OIDC_ISSUER)
TIEBREAK_OIDC_CLIENT_ID = str(env.str("TIEBREAK_OIDC_CLIENT_ID", default=""))
TIEBREAK_OIDC_CLIENT_SECRET = str(env.str("TIEBREAK_OIDC_CLIENT_SECRET", default=""))
if TIEBREAK_OIDC:
    if not (TIEBREAK_OIDC_CLIENT_ID and TIEBREAK_OIDC_CLIENT_SECRET):
        raise ImproperlyConfigured(
            "TIEBREAK_OIDC_ISSUER needs TIEBREAK_OIDC_CLIENT_ID and TIEBREAK_OIDC_CLIENT_SECRET,"
            " which the provider gives you."
        )
    if PRODUCTION and not TIEBREAK_OIDC_ISSUER.startswith("https://"):
        raise ImproperlyConfigured("TIEBREAK_OIDC_ISSUER must begin with https:// in production.")
# What the button to log in says after "Log in with".
TIEBREAK_OIDC_NAME = str(env.str("TIEBREAK_OIDC_NAME", default="your institution"))
# Who may log in with it: verified addresses of these domains, and a claim's value such as
# groups=researchers. By default, everybody who has an account here.
TIEBREAK_OIDC_DOMAINS = _hosts("TIEBREAK_OIDC_DOMAINS")
TIEBREAK_OIDC_GROUP = _pair("TIEBREAK_OIDC_GROUP")
# Whether those without an account get one, who may prepare studies and see nobody else's.
TIEBREAK_OIDC_NEW_ACCOUNTS = _boolean("TIEBREAK_OIDC_NEW_ACCOUNTS", default=False)
if TIEBREAK_OIDC_NEW_ACCOUNTS and not (TIEBREAK_OIDC_DOMAINS or TIEBREAK_OIDC_GROUP[0]):
    raise ImproperlyConfigured(
        "TIEBREAK_OIDC_NEW_ACCOUNTS needs TIEBREAK_OIDC_DOMAINS or TIEBREAK_OIDC_GROUP, because"
        " otherwise everybody whom the provider knows would get an account."
    )
AXES_HANDLER = "studies.members.login_throttle.LoginThrottle"
AXES_CLIENT_IP_CALLABLE = "studies.members.login_throttle.login_address"
AXES_FAILURE_LIMIT = 8  # per name and address
TIEBREAK_LOGIN_FAILURES = 40  # per address, over all names
TIEBREAK_LOGIN_FAILURES_OF_NAME = 100  # per name, from addresses without an earlier log-in
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
# Attempts during a lockout do not prolong it for others at the same address.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_COOLOFF_MESSAGE = (
    "There were too many wrong passwords, so you cannot log in for a quarter of an hour. Please wait"
    " and try again, or ask the administrator of this server for a new password."
)
# Kept out of the stored attempts: a right recovery code may have come too soon.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "code"]
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
LOGIN_URL = "admin:login"
# The server that sends e-mails. Without one, nobody can reset a password by e-mail.
_EMAIL = _email("TIEBREAK_EMAIL_URL")
vars().update(_EMAIL)
TIEBREAK_HAS_EMAIL = bool(_EMAIL)
DEFAULT_FROM_EMAIL = str(env.str("TIEBREAK_EMAIL_FROM", default="tiebreak@localhost"))
EMAIL_TIMEOUT = 20
LOGIN_REDIRECT_URL = "admin:index"
# Pages to which annotators are redirected if they have not entered, or if they have no HITs left.
ANNOTATOR_ENTRY_URL = "recruitment:welcome"
ANNOTATOR_END_URL = "recruitment:end"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = f"{SUB_PATH}/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = not PRODUCTION

# On all pages, including the admin, this forbids inline code, eval and other origins.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "frame-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_SSL_REDIRECT = PRODUCTION and _boolean("TIEBREAK_SSL_REDIRECT", default=True)
# Monitoring on the same host does not use TLS.
SECURE_REDIRECT_EXEMPT = [rf"^({SUB_PATH[1:]}/)?(health/|metrics$)"]
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
TIEBREAK_BEHIND_PROXY = _boolean("TIEBREAK_BEHIND_PROXY", default=False)
# Number of trusted proxies, each of which adds an entry to X-Forwarded-For.
TIEBREAK_PROXIES = _integer("TIEBREAK_PROXIES", 1, 1)
if PRODUCTION and TIEBREAK_BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Without a token, only this host may read /metrics, and not through a proxy.
TIEBREAK_METRICS_TOKEN = str(env.str("TIEBREAK_METRICS_TOKEN", default=""))
if 0 < len(TIEBREAK_METRICS_TOKEN) < 20:
    raise ImproperlyConfigured(
        "TIEBREAK_METRICS_TOKEN must have at least 20 characters. Create one with:"
        " python -c 'import secrets; print(secrets.token_urlsafe())'"
    )

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "api.permissions.IsResearcher",
        "api.permissions.MayWrite",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["api.parsing.BoundedJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "api.negotiation.OneFormat",
    "DEFAULT_THROTTLE_CLASSES": ["api.throttling.ClientThrottle"],
    # Requests of one token or logged-in researcher, and wrong tokens from one address. Each web
    # process counts for itself.
    "DEFAULT_THROTTLE_RATES": {
        "client": _rate("TIEBREAK_API_RATE", "600/min"),
        "wrong_tokens": _rate("TIEBREAK_API_WRONG_TOKENS", "30/min"),
    },
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "api.problems.problem_response",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tiebreak",
    "DESCRIPTION": "Runs human preference studies of language-model outputs.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["api.permissions.IsResearcher"],
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVERS": [{"url": SUB_PATH}] if SUB_PATH else [],
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "StudyStatus": "studies.models.Study.Status",
        "JobStatus": "jobs.models.Job.Status",
        "MachineRaterKind": "machine_raters.models.MachineRater.Kind",
        "MemberRole": "studies.models.Membership.Role",
        "ReferenceUnitRole": "api.serializers.items.ROLE_CHOICES",
        "TextFormat": "studies.rendering.renderers.text_formats",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "api.resources.describe_ids",
    ],
}

# The default broker is a folder, so that development needs no other server.
CELERY_BROKER_URL = str(env.str("TIEBREAK_BROKER_URL", default="filesystem://"))
if CELERY_BROKER_URL == "filesystem://":
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(VAR_DIR / "broker"),
        "data_folder_out": str(VAR_DIR / "broker"),
        "control_folder": str(VAR_DIR / "broker-control"),
        "store_processed": False,
    }
CELERY_TASK_ALWAYS_EAGER = _boolean("TIEBREAK_TASKS_EAGER", default=False)
CELERY_TASK_EAGER_PROPAGATES = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
TIEBREAK_QUEUES = ("interactive", "default", "analytics", "gpu")
# `interactive` is for tasks whose result somebody is waiting for on a page.
CELERY_TASK_ROUTES = {
    "metrics.tasks.*": {"queue": "analytics"},
    # Proposals of rounds expire, and must not wait until several jobs have had their turn.
    "jobs.tasks.make_due_rounds_task": {"queue": "interactive"},
    "jobs.tasks.requeue_stale_jobs_task": {"queue": "interactive"},
    "recruitment.tasks.confirm_participation_task": {"queue": "interactive"},
    "recruitment.tasks.renew_keys_task": {"queue": "interactive"},
    "recruitment.tasks.platform_action_task": {"queue": "interactive"},
}
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Periodic tasks and their intervals in seconds; see `jobs.rounds`. They also find changes on
# platforms for which no webhook arrived.
TIEBREAK_ROUNDS = {
    "jobs": ("jobs.tasks.requeue_stale_jobs_task", 60),
    "platforms": ("recruitment.tasks.sync_channels_task", 120),
    "webhooks": ("api.tasks.webhooks_task", 30),
    "files": ("annotation.tasks.remove_expired_files_task", 3600),
    "licences": ("metrics.tasks.check_licences_task", 120),
    "retention": ("recruitment.tasks.remove_what_is_due_task", 24 * 3600),
    "recount": ("annotation.tasks.recount_studies_task", 24 * 3600),
}
# Another worker may claim a part of a job after this long without a sign of life.
TIEBREAK_JOB_LEASE_SECONDS = _integer("TIEBREAK_JOB_LEASE_SECONDS", 120, 1)
# After this long, a worker lets other jobs of its queue have their turn.
TIEBREAK_JOB_TURN_SECONDS = _integer("TIEBREAK_JOB_TURN_SECONDS", 20, 1)
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 2, "interval_start": 0.1, "interval_max": 0.5}

# The APIs of platforms. No page can change these URLs, so that no user can redirect requests.
TIEBREAK_PROLIFIC_URL = str(
    env.str("TIEBREAK_PROLIFIC_URL", default="https://api.prolific.com/api/v1/")
)
TIEBREAK_PROLIFIC_KEYS_URL = str(
    env.str(
        "TIEBREAK_PROLIFIC_KEYS_URL",
        default="https://api.prolific.com/.well-known/study/jwks.json",
    )
)
TIEBREAK_MTURK_ENDPOINT = str(env.str("TIEBREAK_MTURK_ENDPOINT", default=""))
TIEBREAK_MTURK_ORIGINS = _origins("TIEBREAK_MTURK_ORIGINS") or [
    "https://www.mturk.com",
    "https://workersandbox.mturk.com",
]

# Model servers with the names that researchers see: name=http://host:port/v1, …. The API key of
# `gpu1` is TIEBREAK_MODEL_KEY_GPU1, and further arguments of `OpenAIServer` are a JSON object in
# TIEBREAK_MODEL_OPTIONS_GPU1. name=vllm:MODEL runs vLLM in the worker's process, and its JSON
# object has vLLM's options.
TIEBREAK_MODEL_SERVERS = _servers("TIEBREAK_MODEL_SERVERS")

# Encoder for BERTScore and the sentence cosine: a folder or a hub name of safetensors weights. If
# it is empty, the small encoder of the `embeddings` extra is used. On a GPU, set cuda and bfloat16.
TIEBREAK_ENCODER = str(env.str("TIEBREAK_ENCODER", default=""))
TIEBREAK_ENCODER_DEVICE = str(env.str("TIEBREAK_ENCODER_DEVICE", default="cpu"))
TIEBREAK_ENCODER_DTYPE = _choice(
    "TIEBREAK_ENCODER_DTYPE", ("float32", "bfloat16", "float16"), "float32"
)
# The Ray cluster whose actors score separability, as a JSON object with its address and the number of
# actors, such as {"address": "head:6379", "actors": 4}. By default, workers score themselves.
TIEBREAK_SCORING_RAY = _object(
    "TIEBREAK_SCORING_RAY", '{"address": "head:6379", "actors": 4}', ("address", "actors")
)
# Whether the workers that score separability have packages that the web process may lack.
TIEBREAK_SCORES_ELSEWHERE = _boolean("TIEBREAK_SCORES_ELSEWHERE", default=False)

# The only hosts to which webhooks may be sent, each as host or host:port. None by default.
TIEBREAK_WEBHOOK_HOSTS = _hosts("TIEBREAK_WEBHOOK_HOSTS")

# Where workers put exports for download; with several hosts, a folder that all of them share.
TIEBREAK_EXPORT_FOLDER = str(env.str("TIEBREAK_EXPORT_FOLDER", default=str(VAR_DIR / "exports")))

# Where uploads wait until they are imported; with several hosts, a folder that all of them share.
TIEBREAK_UPLOAD_FOLDER = str(env.str("TIEBREAK_UPLOAD_FOLDER", default=str(VAR_DIR / "uploads")))
# After this many hours, uploads that nobody imported are deleted; exports after this many days.
TIEBREAK_UPLOADS_KEPT_HOURS = _integer("TIEBREAK_UPLOADS_KEPT_HOURS", 24, 1)
TIEBREAK_EXPORTS_KEPT_DAYS = _integer("TIEBREAK_EXPORTS_KEPT_DAYS", 30, 1)
# What is kept about people for so many days after their last study was closed. Without an entry, it is
# kept until they ask to be erased; see `recruitment.services.retention`.
TIEBREAK_KEEP = _days("TIEBREAK_KEEP", ("ids", "addresses", "comments", "log"))
# Bytes of uploads that one researcher may keep there, and of all files in each of the two folders.
TIEBREAK_UPLOAD_QUOTA_BYTES = _integer("TIEBREAK_UPLOAD_QUOTA_BYTES", 2_000_000_000, 1_000)
TIEBREAK_FOLDER_QUOTA_BYTES = _integer("TIEBREAK_FOLDER_QUOTA_BYTES", 50_000_000_000, 1_000)
# Uploads are read in processes of their own: so many at once for pages and the API, with so many
# bytes of memory and seconds of a processor, by a worker or while a researcher waits.
TIEBREAK_READERS = _integer("TIEBREAK_READERS", 2, 1)
TIEBREAK_READER_BYTES = _integer("TIEBREAK_READER_BYTES", 2_000_000_000, 500_000_000)
TIEBREAK_READER_SECONDS = _integer("TIEBREAK_READER_SECONDS", 300, 10)
TIEBREAK_READER_SECONDS_IN_WEB = _integer("TIEBREAK_READER_SECONDS_IN_WEB", 4, 1)
# Uploads of more bytes after unpacking are imported by a worker, while a page shows the progress.
TIEBREAK_IMPORT_AT_ONCE_BYTES = _integer("TIEBREAK_IMPORT_AT_ONCE_BYTES", 2_000_000, 0)

# Limits of bundles and files that are uploaded on pages. Management commands have options instead.
TIEBREAK_MAX_CELL_CHARACTERS = _integer("TIEBREAK_MAX_CELL_CHARACTERS", 1_000_000, 1_000)
TIEBREAK_MAX_UPLOAD_BYTES = _integer("TIEBREAK_MAX_UPLOAD_BYTES", 100_000_000, 1_000)
TIEBREAK_MAX_UNPACKED_BYTES = _integer("TIEBREAK_MAX_UNPACKED_BYTES", 500_000_000, 1_000)
TIEBREAK_MAX_UPLOAD_ROWS = _integer("TIEBREAK_MAX_UPLOAD_ROWS", 100_000, 1)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
FILE_UPLOAD_HANDLERS = [
    "config.upload_limit.UploadLimit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# Lines of JSON have the ids of request, task, job and study, and one line tells of each request.
LOGS_JSON = _choice("TIEBREAK_LOG_FORMAT", ("plain", "json"), "plain") == "json"
# All handlers redact frame tokens, query strings and the values of rows.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "config.redaction.RedactingFormatter",
            "format": "{asctime} {levelname} {name} {message}",
            "style": "{",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": "INFO" if PRODUCTION else "WARNING"},
    "loggers": {
        # Django's default handlers would write unredacted lines and send them by e-mail.
        "django": {"handlers": [], "level": "INFO"},
        "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
        # At INFO, httpx logs each request with its URL, which names a submission.
        "httpx": {"level": "WARNING"},
        "config.observing": {"level": "INFO" if LOGS_JSON else "WARNING"},
    },
}
