"""Samples of credentials and of texts that only look like some. None is real: `<an36>` becomes 36 letters and digits."""

from __future__ import annotations

import random
import re
import string

_ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "hex": "0123456789abcdef",
    "d": string.digits,
    "up": string.ascii_uppercase + string.digits,
    "low": string.ascii_lowercase + string.digits,
    "l": string.ascii_letters,
}


def written_out(sample: str) -> str:
    """The sample with its gaps filled, always in the same way."""
    return re.sub(r"<(an|hex|d|up|low|l)(\d+)>", _filled, sample)


def _filled(gap: re.Match[str]) -> str:
    alphabet, size = _ALPHABETS[gap[1]], int(gap[2])
    chosen = random.Random(gap[0])
    letters = [chosen.choice(alphabet) for _ in range(size)]
    if gap[1] != "d" and size >= 3:  # some kinds want a digit, a capital and a small letter
        letters[1:3] = ["a" if gap[1] != "up" else "A", alphabet[-1] if gap[1] != "hex" else "7"]
        letters[0] = "B" if gap[1] in ("an", "up", "l") else "b"
    return "".join(letters)


#: kind -> samples, then texts that are nearly such: each is its own line here, `!` before those that must stay.
KINDS: dict[str, str] = {
    "github-token": "ghp_<an36>|gho_<an36>|ghu_<an36>|ghs_<an36>|ghr_<an36>|!ghp_short|!right_ghp_|!xghp_<an36>",
    "github-fine-grained": "github_pat_<an22>_<an59>|!github_pat_docs",
    "gitlab-token": "glpat-<an20>|gldt-<an20>|glrt-t1_<an27>.01.<low9>|glptt-<hex40>|glagent-<an50>|!glpat-short",
    "gitlab-registration": "GR1348941<an20>|!GR1348941",
    "gitlab-session": "_gitlab_session=<hex32>|!_gitlab_session=",
    "bitbucket-app-password": "ATBB<an32>|!ATBBs",
    "atlassian-token": "ATATT3<an60>=<up8>|!ATATT3",
    "sourcegraph-token": "sgp_<hex16>_<hex40>|sgp_<hex40>|!sgp_local",
    "gitea-sonar": "squ_<hex40>|sqp_<hex40>|!squ_short",
    "aws-key-id": "AKIA<up16>|ASIA<up16>|!ASIAN|!AKIA<up20>|!MALAKIA<up16>",
    "aws-bedrock": "ABSK<an120>|bedrock-api-key-<an80>|!ABSK",
    "aws-session-token": "IQoJ<an120>|FwoGZX<an100>==|!IQoJ",
    "aws-mws": "amzn.mws.4ea38b7b-f563-7709-4bae-87aea0c5a1b2|!amzn.mws.docs",
    "gcp-api-key": "AIza<an35>|!AIzawa",
    "google-oauth": "ya29.<an60>|!ya29.x",
    "google-refresh": "1//0<an60>|!1//0",
    "google-client-secret": "GOCSPX-<an28>|!GOCSPX-",
    "azure-client-secret": "<an3>8Q~<an34>|!8Q~",
    "azure-stamped-key": "<an76>+ASt<an6>==|<an44>AzFu<an8>==|!+AStd",
    "alibaba-key-id": "LTAI<an20>|!LTAIR",
    "digitalocean": "dop_v1_<hex64>|doo_v1_<hex64>|dor_v1_<hex64>|!dop_v1_x",
    "tencent-key-id": "AKID<an32>|!AKID",
    "heroku-key": "HRKU-AA<an58>|!HRKU-",
    "flyio-token": "fo1_<an43>|fm2_<an100>|!fo1_",
    "cloudflare-ca-key": "v1.0-<hex24>-<hex146>|!v1.0-rc1",
    "databricks": "dapi<hex32>|dapi<hex32>-2|!dapi",
    "planetscale": "pscale_tkn_<an43>|pscale_pw_<an43>|!pscale_tkn_",
    "supabase": "sbp_<hex40>|sb_secret_<an22>_<an8>|!sbp_",
    "scalingo": "tk-us-<an48>|!tk-us-",
    "pulumi": "pul-<hex40>|!pul-",
    "terraform-cloud": "<an14>.atlasv1.<an67>|!x.atlasv1.y",
    "vault-token": "hvs.<an24>|hvs.<an95>|hvb.<an140>|!hvs.x",
    "vault-old-token": "s.<an24>|!s.method_of_something_long|!s.abcdefghijklmnopqrstuvwx",
    "doppler": "dp.pt.<an43>|dp.st.dev.<an43>|!dp.pt.",
    "infracost": "ico-<an32>|!ico-",
    "prefect": "pnu_<an36>|!pnu_",
    "openshift": "sha256~<an43>|!sha256~",
    "yandex": "AQVN<an36>|t1.<an60>.<an86>|!t1.txt",
    "tailscale": "tskey-auth-<an16>-<an32>|!tskey-",
    "render-key": "rnd_<an32>|!rnd_seed",
    "netlify": "nfp_<an36>|!nfp_x",
    "vercel": "vcp_<an56>|!vcp_",
    "clickhouse": "4b1d<an38>|!4b1d",
    "openai-style-key": "sk-<an48>|sk-proj-<an74>T3BlbkFJ<an74>|sk-or-v1-<hex64>|sk-<hex32>|!task-sk-learn-something-long"
    "|!sk-learn-something-that-is-long|!disk-<an48>",
    "anthropic-key": "sk-ant-api03-<an93>AA|sk-ant-admin01-<an93>AA|!sk-ant-",
    "huggingface": "hf_<l34>|api_org_<l34>|!hf_hub_download_from_the_server_now",
    "perplexity": "pplx-<an48>|!pplx-",
    "groq": "gsk_<an52>|!gsk_",
    "xai": "xai-<an80>|!xai-",
    "replicate": "r8_<an37>|!r8_",
    "nvidia": "nvapi-<an64>|!nvapi-",
    "langsmith": "lsv2_pt_<hex32>_<hex10>|!lsv2_pt_",
    "pinecone": "pcsk_<an6>_<an60>|!pcsk_",
    "tavily": "tvly-dev-<an32>|!tvly-",
    "slack-token": "xoxb-<d12>-<d12>-<an24>|xoxp-<d12>-<d12>-<d12>-<hex32>|xapp-1-<up11>-<d13>-<hex64>|xoxe.xoxp-1-<an60>|!xoxb-",
    "slack-webhook": "https://hooks.slack.com/services/T<up8>/B<up8>/<an24>|!https://hooks.slack.com/services",
    "discord-webhook": "https://discord.com/api/webhooks/<d18>/<an68>|!https://discord.com/api/webhooks",
    "discord-token": "discord M<an23>.<an6>.<an27>|Bot M<an25>.<an6>.<an38>|!discord.ext.commands.Bot",
    "telegram-bot": "<d10>:AA<an33>|https://api.telegram.org/bot<d9>:AA<an33>/getMe|!12:AA",
    "teams-webhook": "https://x.webhook.office.com/webhookb2/<hex36>@<hex36>/IncomingWebhook/<hex32>/<hex36>|!/webhookb2/",
    "google-chat-webhook": "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=<an39>&token=<an43>|!chat.googleapis.com",
    "sendgrid": "SG.<an22>.<an43>|!SG.x|!MSG.<an22>",
    "mailgun": "key-<hex32>|!key-value-pairs|!hotkey-<hex32>",
    "mailgun-signing": "mailgun <hex32>-<hex8>-<hex8>|!mailgun <hex32>",
    "mailchimp": "<hex32>-us12|!en-us12",
    "mandrill": "md-<an22>|!md-block-of-some-text",
    "brevo": "xkeysib-<hex64>-<an16>|!xkeysib-",
    "postmark-resend": "re_<an8>_<an24>|!re_compile_this_pattern_now",
    "twilio": "SK<hex32>|AC<hex32>|!SKIP|!TASK<hex32>",
    "stripe": "sk_live_<an24>|rk_live_<an24>|sk_test_<an24>|!pk_live_|!sk_test_x",
    "stripe-webhook": "whsec_<an32>|!whsec_",
    "square": "EAAA<an60>|sq0atp-<an22>|!EAAA",
    "shopify": "shpat_<hex32>|shpss_<hex32>|!shpat_",
    "paypal-braintree": "access_token$production$<low16>$<hex32>|!access_token$",
    "flutterwave": "FLWSECK_TEST-<hex32>-X|!FLWSECK",
    "plaid": "access-sandbox-4ea38b7b-f563-7709-4bae-87aea0c5a1b2|!access-sandbox-x",
    "easypost": "EZAK<an54>|!EZAK",
    "shippo": "shippo_live_<hex40>|!shippo_live_",
    "duffel": "duffel_live_<an43>|!duffel_live_",
    "razorpay": "rzp_live_<an14>|!rzp_live_",
    "lob": "live_<hex35>|test_pub_<hex31>|!test_deadbeef|!test_a_feed_of_beads_added_by_a_deaf_cafe",
    "gocardless": "live_<an40>|!live_view_of_the_server_with_many_words_in",
    "settlemint": "sm_aat_<an16>|!sm_aat_",
    "npm-token": "npm_<an36>|!npm_config_registry_with_a_long_name_abc",
    "pypi-token": "pypi-AgEIcHlwaS5vcmc<an80>|!pypi-attestations-are-a-thing-of-some-length",
    "rubygems": "rubygems_<hex48>|!rubygems_version",
    "crates-io": "cio<an32>|!cio",
    "nuget": "oy2<low43>|!oy2",
    "clojars": "CLOJARS_<low60>|!CLOJARS_USERNAME",
    "docker": "dckr_pat_<an27>|!dckr_pat_",
    "artifactory": "AKCp<an69>|cmVmd<an59>|!AKCp",
    "octopus": "API-<up26>|!API-REFERENCE",
    "circleci": "CCIPAT_<an22>_<hex40>|!CCIPAT_",
    "buildkite": "bkua_<hex40>|!bkua_",
    "readme": "rdme_<low70>|!rdme_",
    "harness": "pat.<an22>.<an24>.<an20>|!pat.sub",
    "snyk-platform": "snyk_uat.<an8>.<an40>|!snyk_uat.",
    "grafana": "glsa_<an32>_<hex8>|glc_<an60>|!glc_",
    "grafana-api-key": "eyJrIjoi<an80>|!eyJrIjoi",
    "new-relic": "NRAK-<up27>|NRII-<an32>|<hex36>NRAL|!NRAK-",
    "dynatrace": "dt0c01.<up24>.<up64>|!dt0c01.",
    "sentry": "sntryu_<hex64>|sntrys_<an100>|!sntryu_",
    "sentry-dsn": "https://<hex32>@o1.ingest.sentry.io/4504|!https://sentry.io/4504",
    "posthog": "phc_<an43>|!phc_",
    "launchdarkly": "sdk-4ea38b7b-f563-7709-4bae-87aea0c5a1b2|!api-reference-of-something",
    "notion": "ntn_<d11><an35>|!ntn_",
    "notion-old": "secret_<an43>|!secret_santa_is_coming_to_town_for_the_whole_day",
    "linear": "lin_api_<an40>|!lin_api_",
    "airtable": "pat<an14>.<hex64>|!path.join",
    "asana": "asana 1/<d16>:<hex32>|!asana 1/2",
    "figma": "figd_<an40>|!figd_",
    "frameio": "fio-u-<an64>|!fio-u-",
    "postman": "PMAK-<hex24>-<hex34>|!PMAK-",
    "typeform": "tfp_<an44>_<an14>|!tfp_",
    "contentful": "CFPAT-<an43>|!CFPAT-",
    "dropbox": "sl.<an135>|!sl.method",
    "hubspot": "pat-na1-4ea38b7b-f563-7709-4bae-87aea0c5a1b2|!pat-na1-",
    "facebook": "EAAC<an120>|!EAAC",
    "facebook-app": "facebook <d16>|<an27>".replace("|", "\0") + "|!facebook <d16>",
    "twitter-bearer": "AAAAAAAAAAAAAAAAAAAAA<an80>|!AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "mapbox": "sk.eyJ<an60>.<an22>|!sk.eyJ",
    "maxmind": "<an6>_<an29>_mmk|!a_mmk",
    "defined-networking": "dnkey-<up26>-<up52>|!dnkey-",
    "adobe": "p8e-<an32>|!p8e-",
    "authress": "sc_<low12>.<low4>.acc_<low16>.<an60>|!x.acc_y",
    "intra42": "s-s4t2ud-<hex64>|!s-s4t2ud-",
    "1password": "A3-<up6>-<up11>-<up5>-<up5>-<up5>|!A3-paper",
    "1password-service": "ops_eyJ<an260>|!ops_eyJ",
    "age-key": "AGE-SECRET-KEY-1<up58>|!AGE-SECRET-KEY-1",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.<an43>|eyJ0eXAiOiJKV1QiLCJhbGci.<an20>.<an20>|!eyJhbGci",
    "jwt-other": "eyJ2<an30>.<an40>.<an43>|!eyJmb28iOiJiYXIifQ",
    "jwt-base64": "ZXlKaGJHY2lPaU<an60>|!ZXlK",
    "jwk": '{"kty":"RSA","n":"<an40>","d":"<an43>"}|!{"kty":"RSA","n":"abc"}',
    "wireguard": "PrivateKey = <an42>A=|!PrivateKey",
    "bitcoin-key": "xprv<an107>|!xprv",
    "kubernetes-bootstrap": "kubeadm join --token <low6>.<low16>|!kubeadm join",
    "putty-key": "Private-Lines: 1\n<an64>|!Private-Lines: 0",
    "basic-bearer": "got Bearer <an20>|bearer <an8>.<an8>|!Bearer authentication|!the bearer of news",
    "url-password": "postgres://ann:<an8>@db/x|redis://:<an8>@h|amqp://u:<an5>/<an5>@h/v|ftp://u:p@<an8>@h"
    "|!http://host:8080/a@2x.png|!http://[::1]:80/x|!https://a.b/c:d@e",
    "url-password-encoded": "next=https%3A%2F%2Fann%3A<an9>%40host|!https%3A%2F%2Fhost%2Fa",
    "url-token": "https://<an20>@github.com/a/b|!https://ann@host/x|!ssh://git@github.com/a",
    "url-user-token": "https://<an20>:x-oauth-basic@github.com/a|!https://host/x:@y",
    "oracle": "jdbc:oracle:thin:scott/<an8>@//h:1521/x|sqlplus scott/<an8>@db|!jdbc:oracle:thin:@//h",
    "url-signature": "https://b.s3.amazonaws.com/k?X-Amz-Signature=<hex64>&x=1|https://x.blob.core.windows.net/c?sv=1&sig=<an20>%3D"
    "|https://storage.googleapis.com/b/o?X-Goog-Signature=<hex64>|!https://x/?sig=1|!sig=(a, b)",
    "curl-user": "curl -u ann:<an8> https://h|curl -su 'ann:<an8>' h|curl --user ann:<an8> h|['curl', '-u', 'ann:<an8>']"
    "|!curl -u ann https://h|!curl https://h:80/a",
    "mysql-password": "mysql -u root -p<an8> db|mysqldump -hdb -p<an8>|['mysql', '-p<an8>']|!mysql -p|!mysql --port 3306",
    "program-password": "sshpass -p <an8> ssh h|redis-cli -h x -a <an8>|docker login -u ann -p <an8>|ldapsearch -x -w <an8>"
    "|keytool -list -storepass <an8>|!docker run -p 8080:80 x|!redis-cli ping",
    "openssl-pass": "openssl rsa -passin pass:<an8>|!pass: 3|!bypass:<an8>",
    "netrc": "machine h login ann password <an8>|!login to change the password",
    "npmrc": "//registry.npmjs.org/:_authToken=<an36>|//r/:_password=<an20>|!_authToken=",
    "sql-identified": "CREATE USER a IDENTIFIED BY '<an8>'|!identified by its name",
    "sql-password": "ALTER ROLE a WITH PASSWORD '<an8>'|!PASSWORD is expired",
    "form-data": 'Content-Disposition: form-data; name="password"\r\n\r\n<an8>\r\n--x|!form-data; name="file"\r\n\r\nabc',
}

VALUE = "s3cr3t-Horse9"

#: Ways to write a value that a name gives away: `@` is the value, `⏎` a new line.
SPELLINGS = """
password = @
password=@
password: @
password : @
password='@'
password = "@"
password: "@"
'password': '@'
"password": "@"
"password":"@"
"password" : "@"
'password' => '@'
:password => "@"
password := "@"
password -> "@"
{'user': 'ann', 'password': '@'}
{"user":"ann","password":"@","x":1}
{'password': b'@'}
{b'password': b'@'}
{'password': ['@']}
{'password': SecretStr('@')}
User(name='ann', password='@')
User(name=ann, password=@)
User { name: "ann", password: "@" }
login('ann', password='@')
"{\\"password\\": \\"@\\"}"
"{\\\\\\"password\\\\\\": \\\\\\"@\\\\\\"}"
'{\\'password\\': \\'@\\'}'
{&quot;password&quot;:&quot;@&quot;}
%22password%22%3A%22@%22
user=ann&password=@&x=1
https://h/login?password=@&next=/
https://h/login?user=ann&password=@
password%3D@
a=1%26password%3D@%26b=2
password\\u003d@
a=1\\u0026password\\u003d@\\u0026b=2
'user=ann\\npassword=@\\nx=1'
'user=ann\\r\\npassword: @\\r\\n'
DB_PASS=@
export DB_PASSWORD=@
set PGPASSWORD=@
MYSQL_PWD=@
env DB_PASSWORD=@ ./run
ENV SECRET_KEY @
  password: @
- password: @
db_password = @
spring.datasource.password=@
dbPassword: '@'
userPwd=@
pwd = '@'
passwd: @
passphrase=@
passcode: @
password2=@
new_password_confirmation=@
PASSWORD_PROD=@
client_secret=@
clientSecret: "@"
SECRET_KEY = '@'
SECRET_KEY_BASE=@
AWS_SECRET_ACCESS_KEY=@
api_key: @
apikey=@
APIKey: "@"
X-Api-Key: @
x-api-key: @
Ocp-Apim-Subscription-Key: @
X-Auth-Token: @
PRIVATE-TOKEN: @
X-Vault-Token: @
access_token=@
refreshToken: '@'
GITHUB_TOKEN=@
token=@
"token": "@"
credentials='@'
--password @
--password=@
--password '@'
--token @
--token=@
--api-key @
--client-secret=@
-password @
['--password', '@']
["--token", "@"]
Server=db;User Id=sa;Password=@;
Server=db;Pwd=@;Database=x
Password=@;Server=db
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@;EndpointSuffix=y
Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=@
host=db user=ann password=@ dbname=x
host=db user=ann password='@' dbname=x
Authorization: Basic @
Authorization: Bearer @
Authorization: token @
authorization: ApiKey @
Proxy-Authorization: Digest username="a", response="@"
{'Authorization': 'Bearer @'}
('Authorization', 'Bearer @')
(b'authorization', b'Bearer @')
-H "Authorization: Bearer @"
Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=@
Cookie: sid=@
Cookie: a=b; sid=@; c=d
Set-Cookie: sid=@; Path=/; HttpOnly
{'Cookie': 'sid=@'}
<password>@</password>
<add key="Password" value="@" />
<property name="password" value="@"/>
{"name": "DB_PASSWORD", "value": "@"}
- name: DB_PASSWORD⏎  value: @
password: |⏎  @⏎user: x
password: >-⏎    @
password: str = '@'
password: String = "@"
os.environ['DB_PASSWORD'] = '@'
os.environ["DB_PASSWORD"] = "@"
user, password = "ann", "@"
at ['password']: '@' != 'other'
at ['password']: 'other' != '@'
at ['password']: only on the left: '@'
at .password: '@' != None
assert password == '@'
password != '@'
the password is @
the password '@' is too short
E       AssertionError: assert {'password': '@'} == {}
E         -     'password': '@',
>       login(password='@')
assert '@' == 'x'⏎ +  where '@' = User().password
assert '@' == 'x'⏎ +  where '@' = <bound method>.get('password')
password = '@'⏎assert check('@')
{'password': 'correct horse '⏎             '@'}
{'password': '@
{'password': 'abc...@'}
pass\x1b[1mword\x1b[0m=\x1b[31m@\x1b[0m
\x1b[31mpassword\x1b[0m: \x1b[32m@\x1b[0m
\\x1b[31mpassword\\x1b[0m=@
-Djavax.net.ssl.trustStorePassword=@
heroku_api = <an20>
"""

#: Texts that stay as they are.
ORDINARY = """
pwd=''
password=""
password=***
password='***'
password: ********
password=<password>
password: <hidden>
password=${DB_PASSWORD}
password=$DB_PASSWORD
password={{ password }}
password={password}
password=%s
password=%(password)s
password: str
password: Optional[str] = None
password: string;
password=None
password: null
"password": true
def login(password):
def login(user: str, password: str) -> None:
def login(user, password=None):
assert password == expected
assert password == other.password
login(password=password)
login(user=user, password=self.password)
    password = get_password()
    password = pw
password = os.environ['PASSWORD']
password=os.getenv("DB_PASSWORD")
password = getpass.getpass()
password = input('Password: ')
if not password:
assert len(password) == 8
password, user = a, b
fields = ["password", "username"]
KeyError: 'password'
ValueError: password must be at least 8 characters
password: too short
{'password': ['This field is required.']}
"password": {"type": "string"}
password_length=12
password_hash_algorithm = pbkdf2_sha256
token count: 5
tokens: 12
max_tokens=4096
token_type: Bearer
Unexpected token: 'foo'
bad token in 'a|b'
assert token == 'abc'
pad_token='[PAD]'
eos_token: </s>
secret_santa=bob
assert secret == 5
secret: true
monkey=banana
turkey: 12345abcdef
keyboard=qwerty123
primary_key=12345abcdef6789012345
cache_key="user:12345678901234567890abc"
key: value
key=9f86d081884c7d659a2feaa0c55ad015
compass=north2
bypass=true
passed=5
pass: 3
passenger=bob77
author: Bob1234567890
PWD=/home/ann/project
private_key = '/etc/ssl/key.pem'
ssl_key=./certs/server.key
--password-stdin
--password-file /run/secrets/db1
usage: x [--password PASSWORD] [--token TOKEN]
argument --password: expected one argument
the --password option is required
Authorization: required
Authorization header is missing
Bearer authentication required
Basic authentication
cookie: 5
cookies are enabled
session=<Session object at 0x7f1234567890>
auth=None
auth: disabled
tokenizer='gpt2-medium-345m'
signature: (a, b)
http://host:8080/path
https://user@host/x
git@github.com:ann/project.git
mailto:ann@example.com
id: 123e4567-e89b-12d3-a456-426614174000
commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/home/ann/secret/passwords.txt
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
test_password[short]
t.py::test_login[password=s3cr3t-Horse9] FAILED
FAILED t.py::test_login[password='s3cr3t-Horse9'] - assert 0
--- FAIL: TestLogin/password=s3cr3t-Horse9 (0.00s)
task-sk-learn-something-long
hf_hub_download_model_files_from_server
std::string password = get();
password != other
password
"""
