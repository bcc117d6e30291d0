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
    "http-auth": "http -a ann:<an8> https://h|xh --auth=ann:<an8> h|!http -a ann https://h|!http -v https://h:80/a",
    "curl-cookie": "curl -b 'sid=<an8>; x=1' https://h|curl -s --cookie sid=<an8> h|!curl -b cookies.txt https://h",
    "basic-auth-call": 'HTTPBasicAuth(\'ann\', \'<an8>\')|BasicAuth("ann", "<an8>")|req.SetBasicAuth("ann", "<an8>")|!HTTPBasicAuth(user, given)',
    "piped-password": "echo <an8> \0 docker login -u ann --password-stdin|echo '<an8>' \0 sudo -S ls|!echo $PW \0 sudo -S ls|!echo done \0 tee log",
    "oauth-code": "https://h/cb?code=<an20>&state=x|!https://h/?code=404|!https://h/?code=not_found_at_all",
    "password-hash": "$2b$12$<an53>|$6$rounds=5000$<an8>$<an86>|pbkdf2_sha256$260000$<an12>$<an43>=|$argon2id$v=19$m=65536,t=3,p=4$<an22>$<an43>"
    "|scrypt:32768:8:1$<an16>$<hex64>|{SSHA}<an32>|!$1$|!pbkdf2_sha256|!cost $5$ or $6$ a piece",
    "laravel-key": "base64:<an43>=|!data:image/png;base64:x",
    "mail-login": "AUTH PLAIN AG<an18>|USER ann\nPASS <an8>|a1 LOGIN ann <an8>|!AUTH PLAIN LOGIN|!250 AUTH LOGIN PLAIN|!TEST PASS all",
    "secure-string": "ConvertTo-SecureString '<an8>' -AsPlainText|ConvertTo-SecureString -String <an8>|!ConvertTo-SecureString $given -Force",
    "kubectl-literal": "kubectl create secret generic db --from-literal=user=<an8>|!--from-literal=user=$DB_USER",
    "curl-user": "curl -u ann:<an8> https://h|curl -su 'ann:<an8>' h|curl --user ann:<an8> h|['curl', '-u', 'ann:<an8>']"
    "|!curl -u ann https://h|!curl https://h:80/a",
    "mysql-password": "mysql -u root -p<an8> db|mysqldump -hdb -p<an8>|['mysql', '-p<an8>']|!mysql -p|!mysql --port 3306",
    "program-password": "sshpass -p <an8> ssh h|redis-cli -h x -a <an8>|docker login -u ann -p <an8>|ldapsearch -x -w <an8>"
    "|keytool -list -storepass <an8>|!docker run -p 8080:80 x|!redis-cli ping",
    "openssl-pass": "openssl rsa -passin pass:<an8>|!pass: 3|!bypass:<an8>",
    "netrc": "machine h login ann password <an8>|!login to change the password",
    "npmrc": "//npm.example.org/:_authToken=<an36>|//r/:_password=<an20>|!_authToken=",
    "sql-identified": "CREATE USER a IDENTIFIED BY '<an8>'|!identified by its name",
    "sql-password": "ALTER ROLE a WITH PASSWORD '<an8>'|!PASSWORD is expired",
    "form-data": 'Content-Disposition: form-data; name="password"\r\n\r\n<an8>\r\n--x|!form-data; name="file"\r\n\r\nabc',
}

VALUE = "s3cr3t-Horse9"

#: Ways to write a value that a name gives away: `¤` is the value, `⏎` a new line.
SPELLINGS = """
password = ¤
password=¤
password: ¤
password : ¤
password='¤'
password = "¤"
password: "¤"
'password': '¤'
"password": "¤"
"password":"¤"
"password" : "¤"
'password' => '¤'
:password => "¤"
password := "¤"
password -> "¤"
{'user': 'ann', 'password': '¤'}
{"user":"ann","password":"¤","x":1}
{'password': b'¤'}
{b'password': b'¤'}
{'password': ['¤']}
{'password': SecretStr('¤')}
User(name='ann', password='¤')
User(name=ann, password=¤)
User { name: "ann", password: "¤" }
login('ann', password='¤')
"{\\"password\\": \\"¤\\"}"
"{\\\\\\"password\\\\\\": \\\\\\"¤\\\\\\"}"
'{\\'password\\': \\'¤\\'}'
{&quot;password&quot;:&quot;¤&quot;}
%22password%22%3A%22¤%22
user=ann&password=¤&x=1
https://h/login?password=¤&next=/
https://h/login?user=ann&password=¤
password%3D¤
a=1%26password%3D¤%26b=2
password\\u003d¤
a=1\\u0026password\\u003d¤\\u0026b=2
'user=ann\\npassword=¤\\nx=1'
'user=ann\\r\\npassword: ¤\\r\\n'
DB_PASS=¤
export DB_PASSWORD=¤
set PGPASSWORD=¤
MYSQL_PWD=¤
env DB_PASSWORD=¤ ./run
ENV SECRET_KEY ¤
  password: ¤
- password: ¤
db_password = ¤
spring.datasource.password=¤
dbPassword: '¤'
userPwd=¤
pwd = '¤'
passwd: ¤
passphrase=¤
passcode: ¤
password2=¤
new_password_confirmation=¤
PASSWORD_PROD=¤
client_secret=¤
clientSecret: "¤"
SECRET_KEY = '¤'
SECRET_KEY_BASE=¤
AWS_SECRET_ACCESS_KEY=¤
api_key: ¤
apikey=¤
APIKey: "¤"
X-Api-Key: ¤
x-api-key: ¤
Ocp-Apim-Subscription-Key: ¤
X-Auth-Token: ¤
PRIVATE-TOKEN: ¤
X-Vault-Token: ¤
access_token=¤
refreshToken: '¤'
GITHUB_TOKEN=¤
token=¤
"token": "¤"
credentials='¤'
--password ¤
--password=¤
--password '¤'
--token ¤
--token=¤
--api-key ¤
--client-secret=¤
-password ¤
['--password', '¤']
["--token", "¤"]
Server=db;User Id=sa;Password=¤;
Server=db;Pwd=¤;Database=x
Password=¤;Server=db
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=¤;EndpointSuffix=y
Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=¤
host=db user=ann password=¤ dbname=x
host=db user=ann password='¤' dbname=x
Authorization: Basic ¤
Authorization: Bearer ¤
Authorization: token ¤
authorization: ApiKey ¤
Proxy-Authorization: Digest username="a", response="¤"
{'Authorization': 'Bearer ¤'}
('Authorization', 'Bearer ¤')
(b'authorization', b'Bearer ¤')
-H "Authorization: Bearer ¤"
Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=¤
Cookie: sid=¤
Cookie: a=b; sid=¤; c=d
Set-Cookie: sid=¤; Path=/; HttpOnly
{'Cookie': 'sid=¤'}
<password>¤</password>
<add key="Password" value="¤" />
<property name="password" value="¤"/>
{"name": "DB_PASSWORD", "value": "¤"}
- name: DB_PASSWORD⏎  value: ¤
password: |⏎  ¤⏎user: x
password: >-⏎    ¤
password: str = '¤'
password: String = "¤"
os.environ['DB_PASSWORD'] = '¤'
os.environ["DB_PASSWORD"] = "¤"
user, password = "ann", "¤"
at ['password']: '¤' != 'other'
at ['password']: 'other' != '¤'
at ['password']: only on the left: '¤'
at .password: '¤' != None
assert password == '¤'
password != '¤'
the password is ¤
the password '¤' is too short
E       AssertionError: assert {'password': '¤'} == {}
E         -     'password': '¤',
>       login(password='¤')
assert '¤' == 'x'⏎ +  where '¤' = User().password
>       assert user.password == 'x'⏎E       AssertionError: assert '¤' == 'x'
assert '¤' == 'x'⏎ +  where '¤' = <bound method>.get('password')
password = '¤'⏎assert check('¤')
{'password': 'correct horse '⏎             '¤'}
{'password': '¤
{'password': 'abc...¤'}
pass\x1b[1mword\x1b[0m=\x1b[31m¤\x1b[0m
\x1b[31mpassword\x1b[0m: \x1b[32m¤\x1b[0m
\\x1b[31mpassword\\x1b[0m=¤
-Djavax.net.ssl.trustStorePassword=¤
heroku_api = <an20>
POSTGRES_PASSWORD: ¤
      - MYSQL_ROOT_PASSWORD=¤
    environment: {REDIS_PASSWORD: "¤"}
docker run -e POSTGRES_PASSWORD=¤ postgres
docker run --env=API_TOKEN=¤ img
kubectl create secret generic db --from-literal=password=¤
kubectl create secret generic db --from-literal=pin=¤
variable "db_password" { default = "¤" }
db_password = "¤" # terraform.tfvars
  master_password      = "¤"
terraform apply -var db_password=¤
terraform apply -var 'db_password=¤'
TF_VAR_db_password=¤
[client]⏎user=ann⏎password="¤"
smtp_password = ¤ ; comment
[tool.app]⏎api-key = '¤'
{"db":{"credentials":{"user":"a","password":"¤"}}}
{"body": "{\\"grant\\":\\"x\\",\\"client_secret\\":\\"¤\\"}"}
Config(host='h', port=5, api_key='¤', debug=False)
Settings(DB_URL='postgres://u:¤@h/d')
namespace(user='a', passwd='¤')
Namespace(password='¤', verbose=0)
OrderedDict([('user', 'a'), ('password', '¤')])
environ({'HOME': '/root', 'AWS_SECRET_ACCESS_KEY': '<an20>/Zx9'})
requests.post(url, auth=('ann', '¤'))
HTTPBasicAuth('ann', '¤')
auth=HTTPBasicAuth(username="ann", password="¤")
mongodb+srv://ann:¤@cluster0.abcde.mongodb.net/test?retryWrites=true
amqps://ann:¤@rabbit:5671/%2f
rediss://default:¤@h:6380/0
Server=tcp:x.database.windows.net,1433;Initial Catalog=d;User ID=u;Password=¤;Encrypt=True
jdbc:postgresql://h:5432/d?user=ann&password=¤
jdbc:sqlserver://h:1433;databaseName=d;user=sa;password=¤;
jdbc:mysql://h/d?user=ann&password=¤&useSSL=false
Driver={ODBC Driver 17};Server=h;UID=sa;PWD=¤
Data Source=h;User Id=scott;Password=¤
x-goog-api-key: <an20>
X-Shopify-Access-Token: <an20>
X-CSRFToken: <an20>
X-Amz-Security-Token: <an20>
< Set-Cookie: session=<an20>; HttpOnly
> Cookie: JSESSIONID=<an20>
authorization=Bearer <an20>
curl -H 'X-Api-Key: ¤' https://h
curl -H "PRIVATE-TOKEN:¤" https://h
curl -d 'username=a&password=¤' https://h
curl -d '{"password":"¤"}' https://h
curl --data-urlencode "client_secret=¤" https://h
curl -b 'sid=¤' https://h
curl --cookie "sessionid=¤" https://h
curl --oauth2-bearer ¤ https://h
curl -x http://ann:¤@proxy:3128 https://h
wget --http-user=ann --http-password=¤ https://h
wget --header='Authorization: token ¤' https://h
http -a ann:¤ https://h
PGPASSWORD=¤ psql -h h
psql "host=h user=u password=¤"
psql postgresql://u:¤@h/d
mysql -uroot -p¤ -h h
mysqladmin --password=¤ status
redis-cli -u redis://:¤@h:6379
redis-cli --pass ¤ ping
redis-cli AUTH ¤
requirepass ¤
masterauth ¤
aws configure set aws_secret_access_key <an20>
aws rds modify-db-instance --master-user-password ¤
aws_session_token = <an20>
az login --service-principal -u app -p ¤ --tenant t
az storage blob list --account-key ¤==
gcloud sql users set-password root --password=¤
spring.mail.password=¤
hibernate.connection.password ¤
$env:DB_PASSWORD = "¤"
$env:API_TOKEN='¤'
ConvertTo-SecureString "¤" -AsPlainText -Force
$Password = "¤" | ConvertTo-SecureString
Connect-Thing -Password ¤
set DB_PASSWORD=¤&& run.bat
setx API_KEY "¤"
CREATE USER ann IDENTIFIED BY ¤;
CREATE USER 'ann'@'%' IDENTIFIED WITH mysql_native_password BY '¤'
CREATE LOGIN ann WITH PASSWORD = '¤';
CREATE ROLE ann LOGIN PASSWORD '¤'
SET PASSWORD FOR 'ann'@'h' = PASSWORD('¤');
SET PASSWORD FOR ann = '¤'
INSERT INTO users (name, password) VALUES ('ann', '¤')
UPDATE users SET password='¤' WHERE id=1
origin	https://oauth2:<an20>@gitlab.com/a/b.git (push)
url = https://x-access-token:<an20>@github.com/a/b
git clone https://ann:¤@bitbucket.org/a/b.git
machine api.github.com⏎  login ann⏎  password ¤
machine h⏎login ann⏎account x⏎password ¤
//npm.pkg.github.com/:_authToken=¤
[pypi]⏎username = __token__⏎password = ¤
twine upload -u __token__ -p ¤ dist/*
ssh-pass: ¤
https://b.s3.amazonaws.com/k?AWSAccessKeyId=X&Signature=<an20>%3D&Expires=1
https://acc.blob.core.windows.net/c/b?sv=2022&se=2026&sr=b&sp=r&sig=<an20>%2Fab%3D
https://d.cloudfront.net/x?Expires=1&Signature=<an20>~ab__&Key-Pair-Id=K1
https://h/cb?code=<an20>&state=x
https://h/cb#access_token=<an20>&token_type=bearer
https://h/reset?token=<an20>
https://maps.googleapis.com/x?key=<an20>
wss://h/ws?access_token=<an20>
smtp://ann%40x.org:¤@smtp.x.org:587
ldapsearch -D cn=admin -w ¤
sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to "postgresql://ann:¤@h/d" failed
ACCESS_KEY_SECRET=<an20>
AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=https;AccountName=x;AccountKey=<an20>==
HostName=x.azure-devices.net;DeviceId=d;SharedAccessKey=<an20>=
SharedAccessSignature sr=x&sig=<an20>%3d&se=1
STRIPE_KEY=<an20>
OPENAI_KEY=<an20>
SENDGRID_API_KEY=<an20>
encryption_key: b'<an20><an20>='
FERNET_KEY=<an20>Zx9kLmQ2vabZx9kLmQ2va=
WEBHOOK_SECRET: <an20>
root:$6$rounds=5000$saltsalt$<an20>:18000:0:99999:7:::
pbkdf2_sha256$260000$saltsalt$<an20>Zx9kLmQ2vabZx9kLmQ2va=
echo ¤ | docker login -u ann --password-stdin
sudo -S <<< "¤"
echo '¤' | sudo -S ls
net user ann ¤ /add
openssl enc -aes-256-cbc -k ¤
gpg --batch --passphrase ¤ -c f
ansible-playbook -e ansible_become_pass=¤ x.yml
ansible_ssh_pass: ¤
vault kv put secret/db password=¤
vault login <an20>
consul kv get -token=¤ k
helm install x --set auth.password=¤
helm install x --set mysql.auth.rootPassword=¤,x=y
snowsql -a x -u ann -p ¤
mongosh -u ann -p ¤ --authenticationDatabase admin
sqlcmd -S h -U sa -P ¤ -Q x
bcp t out f -S h -U sa -P ¤
smbclient //h/s -U ann%¤
rclone config create x s3 secret_access_key <an20>
nmcli dev wifi connect x password ¤
wpa_passphrase home ¤
  psk="¤"
unzip -P ¤ f.zip
E   AssertionError: Expected 'login' to be called with ('ann', password='¤')
E   assert {'token': '¤'} == {'token': 'other1'}
E     Full diff:⏎E     - {'secret': '¤'}
password  = '¤'
user       = <User ann>⏎secret     = '¤'
self = <Client>, username = 'ann', password = '¤'
Expected: {"apiKey": "¤"} Received: {}
-   "accessToken": "¤",
+   token: '¤',
  left: Config { api_key: "¤", port: 1 }
thread 'x' panicked: Creds { user: "a", password: Some("¤") }
got &{User:ann Password:¤ Host:h}
main.Config{User:"ann", Password:"¤"}
map[password:¤ user:ann]
#<User id: 1, password: "¤">
User[name=ann, password=¤]
array('password' => '¤')
["password"]=>⏎  string(9) "¤"
Struct(password: '¤')
password <- "¤"
(setq password "¤")
%{password: "¤"}
#define API_KEY "¤"
const char *password = "¤";
String password = "¤";
private static final String API_KEY = "¤";
let api_key: &str = "¤";
var password string = "¤"
client.setPassword("¤")
client.set_password('¤')
.withPassword("¤")
os.environ.setdefault("API_KEY", "¤")
monkeypatch.setenv("DB_PASSWORD", "¤")
os.Setenv("DB_PASSWORD", "¤")
System.setProperty("db.password", "¤");
process.env.API_KEY = '¤'
headers.set('X-Api-Key', '¤')
headers["Authorization"] = "Bearer ¤"
--header 'Authorization: Bearer ¤'
Invalid password "¤" for user ann
login failed: user=ann, password=¤
Using API key <an20>
<input type="password" name="pw" value="¤">
<connectionStrings><add connectionString="Server=h;Password=¤"/></connectionStrings>
<server><id>x</id><username>a</username><password>¤</password></server>
<wsse:Password Type="PasswordText">¤</wsse:Password>
<string name="api_key"><an20></string>
<key>APIKey</key>⏎<string><an20></string>
| password | ¤ |
pass=¤
PASS: ¤
pw: '¤'
contraseña: ¤
mot_de_passe = '¤'
Kennwort: ¤
senha=¤
X-Plex-Token=<an20>
"refresh_token":"¤"
"id_token": "¤"
"connectionString": "AccountEndpoint=https://x/;AccountKey=<an20>==;"
SLACK_SIGNING_SECRET=¤
credentials: ann:¤
creds = ("ann", "¤")
basic_auth: ann:¤
USER ann⏎PASS ¤
a1 LOGIN ann ¤
NICKSERV IDENTIFY ¤
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
password_reset=True
token_count: 5
tokens=120
secret_santa = "alice42"
passed=3
author: bob
keyboard: qwerty
assert user.password is None
assert response.json()["password"] == ""
assert password == '***'
E   assert 'abc' in '***'
E   assert None == 'password'
E       AttributeError: 'User' object has no attribute 'password'
TypeError: login() missing 1 required positional argument: 'password'
TypeError: __init__() got an unexpected keyword argument 'api_key'
KeyError: 'DB_PASSWORD'
def set_password(self, password: str, *, token: str | None = None) -> bool:
def test_password_is_hashed(password_hasher, token_factory):
class PasswordField(forms.CharField):
password: Mapped[str] = mapped_column(String(255))
password = models.CharField(max_length=128)
password = serializers.CharField(write_only=True)
password: SecretStr
api_key: str = Field(..., description="The key")
token: Annotated[str, Depends(oauth2_scheme)]
private readonly password: string;
private String password;
let token = lexer.next_token();
Token(type=NAME, value='abc123', line=4)
token = Token('NUMBER', '12345')
next token: IDENTIFIER
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
SyntaxError: Unexpected token } in JSON at position 42
key = lambda item: item[1]
sorted(items, key=operator.itemgetter("name2"))
sorted(x, key=len)
for key, value in items.items():
dict_key='abc123def456'
key=('a', 1)
keys: ['a1', 'b2']
KEY_UP = 38
key_size=2048
public_key=ssh-rsa
keyfile=/etc/ssl/private/server.key
ssl_certificate_key /etc/nginx/ssl/key.pem;
IdentityFile ~/.ssh/id_ed25519
authors = ["Ann Smith <ann@example.org>"]
authorized: true
auth_method: oauth2
auth_url=https://auth.example.org/v2/login
oauth2_scheme = OAuth2PasswordBearer(tokenUrl="token")
authentication failed for user ann
401 Unauthorized: authentication token is missing
session_scope = "function"
============================= test session starts ==============================
session: 12
sessions=3
sig = inspect.signature(func)
signature = "(a: int, b: str) -> None"
signal=SIGTERM
sign: 1
side_effect=ValueError
consider: nothing
residual=0.12345678901234
inside=abc12345
hotkey: ctrl+shift+k
monkeypatch.setattr("app.auth.TOKEN_TTL", 3600)
monkeypatch.setenv("HOME", "/tmp/pytest-of-ann/pytest-0")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
passthrough: on
compass: 270
bypass_cache=1
passive=True
passenger_count=42
first_pass = 12345678
test_pass: ok
pass_rate=98.5%
passes: 3, fails: 2
3 passed, 2 failed in 1.23s
password_min_length: 12
password_policy: strong12
PasswordStrength.WEAK2
password_changed_at=2024-01-01T00:00:00Z
password_hashers = ['django.contrib.auth.hashers.PBKDF2PasswordHasher']
AUTH_PASSWORD_VALIDATORS = []
AUTH_USER_MODEL = 'accounts.User'
SESSION_COOKIE_SECURE = True
SESSION_ENGINE = 'django.contrib.sessions.backends.db'
CSRF_COOKIE_NAME = 'csrftoken'
cookie_name="sid2"
cookies={}
cookiecutter==2.5.0
tokenizers==0.15.2
keyring==24.3.0
passlib==1.7.4
pyjwt==2.8.0
python-jose[cryptography]==3.3.0
secretstorage==3.3.3
oauthlib-3.2.2-py3-none-any.whl
Successfully installed pyjwt-2.8.0 keyring-24.3.0 tokenizers-0.15.2
pip install authlib==1.3.0 itsdangerous==2.1.2
Collecting secretstorage>=3.2 (from keyring)
sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
integrity sha512-Zx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vab==
"integrity": "sha512-Zx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vab=="
checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
digest: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
request_id=7f9c24e8-3b0a-4a36-b8f1-8d6b1c2e3f40
trace_id: 4bf92f3577b34da6a3ce929d0e0e4736
traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
index 83db48f..bf2a9c1 100644
Merge: 1a2b3c4 5d6e7f8
HEAD is now at 1a2b3c4d Fix the token parser
<Token: abc at 0x7f3c2c0d5e80>
<Secret name='db' at 0x7f3c2c0d5e80>
<MagicMock name='mock.password' id='140234567890123'>
<Mock name='get_token()' id='140234567890123'>
call(password=<ANY>)
assert_called_once_with(token=ANY)
tests/auth/test_tokens.py::test_refresh_token[expired] PASSED
tests/test_password.py:42: AssertionError
src/auth/token.py:10: in get_token
  File "/app/secrets/loader.py", line 12, in load_secret
E   FileNotFoundError: [Errno 2] No such file or directory: '/run/secrets/db_password'
DB_PASSWORD_FILE=/run/secrets/db_password1
--key-file=/etc/key1.pem
Usage: app [OPTIONS] --api-key TEXT
  --password TEXT   The password to use. [required]
  -p, --password=PASSWORD  password to use when connecting
  --token-file FILE  read the token from a file
Enter password:
Confirm your password to continue
The password you entered is incorrect.
Your password must contain 1 digit and 8 characters.
password is required
token is expired
the token has expired at 12:00
invalid token
error: invalid_token
error_description=The access token expired
grant_type=password
grant_type=refresh_token
response_type=token
token_type=bearer
token_endpoint=https://h/oauth2/token
"scope": "read:token2 write"
"type": "password"
type=secret
kind: Secret
kind: SecretStore
secretName: tls-cert-2024
secretKeyRef: {name: db, key: password}
        secretKeyRef:⏎          name: db-secret1⏎          key: password
valueFrom:⏎  secretKeyRef:⏎    name: app-v2⏎    key: api-key
secrets: inherit
token: ${{ secrets.GITHUB_TOKEN }}
password: ${{ secrets.DB_PASSWORD }}
password: !vault |
password: "{{ vault_db_password }}"
password: env("DB_PASSWORD")
password = var.db_password
password = data.aws_secretsmanager_secret.db.value
password = random_password.db.result
password: process.env.DB_PASSWORD,
const password = process.env.PASSWORD;
const token = await getToken(user1);
const { password, ...rest } = user;
password := os.Getenv("PASSWORD")
password = System.getenv("PASSWORD");
String password = request.getParameter("password");
$password = $_POST['password'];
password = ENV.fetch("PASSWORD")
password: File.read("x1")
if password == confirm_password:
if (token === null) {
if (!password) throw new Error("no password1");
return token;
return password == self._password
raise ValueError("password too short: 5 < 8")
raise InvalidToken(f"bad token {token!r}")
logger.info("token refreshed for %s", user)
log.debug("key=%s value=%s", key, value)
print(f"password={password}")
print("password=" + password)
"password={}".format(pw)
f"{user}:{password}@{host}"
postgres://{user}:{password}@{host}/db
postgresql://$USER:$PASSWORD@$HOST/db
https://user:***@host/x
redis://localhost:6379/0
http://127.0.0.1:8000/static/app.3f2a1b.js
https://cdn.example.com/key-3f2a1b9c8d7e6f5a.png
https://example.com/@ann/posts/1
https://h/?page_token=2
https://h/docs#token-authentication
npm ERR! code E401
npm WARN deprecated request@2.88.2: see https://github.com/request/request/issues/3142
data:font/woff2;base64,d09GMgABAAAAAAZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vab
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDZx9kLmQ2vab ann@host
SHA256:Zx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2vabZx9kLmQ2va
-----BEGIN CERTIFICATE-----⏎MIIBZx9kLmQ2vabZx9kLmQ2vab⏎-----END CERTIFICATE-----
ImportError: cannot import name 'password_hash' from 'app.auth2'
ModuleNotFoundError: No module named 'jwt'
DeprecationWarning: the 'key' argument is deprecated since 3.10
UserWarning: token indices sequence length is longer than 512 (600 > 512)
cache key: user/42/profile
s3 key: data/2024/01/01/part-00001.parquet
Key: data/2024/01/01/part-00001.parquet
key "user:42" not found
duplicate key value violates unique constraint "users_pkey"
DETAIL:  Key (email)=(ann@example.org) already exists.
FOREIGN KEY (user_id) REFERENCES users(id)
PRIMARY KEY, btree (id)
object_key = "uploads/7f9c24e8-3b0a-4a36-b8f1-8d6b1c2e3f40.png"
partition_key=2024-01-01
translation_key: errors.password.too_short
msg_key: app.login.title2
key: "ctrl+c"
{"key": "value1", "other": "value2"}
{"key": "ArrowLeft", "code": "ArrowLeft"}
hash_key=9f86d081884c7d659a2feaa0c55ad015
sort_key: name2
idempotency_key=7f9c24e8-3b0a-4a36-b8f1-8d6b1c2e3f40
correlation_id: Zx9kLmQ2vab
model: gpt-4-turbo-2024-04-09
max_new_tokens: 512
prompt_tokens=12, completion_tokens=30, total_tokens=42
eos_token_id=50256
bos_token: <s>
token_ids=[101, 2023, 102]
csrf_token_name: csrf1
salt_length=16
wget https://h/file-1.2.3.tar.gz
curl -fsSL https://sh.rustup.rs | sh
curl -u "$USER:$PASS" https://h
curl -H "Authorization: Bearer $TOKEN" https://h
docker run -p 127.0.0.1:8080:80 nginx
docker run -P nginx:1.25
docker ps -a --format '{{.Names}}'
mysql -u root -p mydb
mysql -h db -P 3306 -u root
redis-cli -h cache -p 6379 ping
ssh -p 2222 ann@host
mkdir -p build/test1
az vm list -o table
zip -r out.zip src
oc get pods -n test1
login shell bash
logged in as ann
value: 12345
name: token⏎value: 5
- name: LOG_LEVEL⏎  value: debug1
- name: DB_PASSWORD⏎  valueFrom:⏎    secretKeyRef:⏎      name: db1
Basic usage
basic auth is disabled
Bearer token required
a bearer of 2nd class shares
where the 'key' = 5
where 3 = len('password1')
 +  where None = <User ann>.password
 +  where False = check_password('')
E     - password
E     + passwords
E     ?         +
assert 'password' in {'password': None}
{'password': '', 'token': None}
{'password': None}
{"password": null, "token": ""}
{"password":"<redacted>","token":"[FILTERED]"}
{'password': '**********'}
User(name='ann', password=SecretStr('**********'))
password='[REDACTED]'
password=xxxxx
x-api-key: <your key>
API_KEY=your_api_key_here
API_KEY=YOUR_API_KEY
DB_HOST=db1.example.org
SESSION_TIMEOUT=3600s
AUTHOR_EMAIL=ann2@example.org
AUTHENTICATION_BACKENDS=django.contrib.auth.backends.ModelBackend
KEYCLOAK_URL=http://localhost:8080/auth
KEYSPACE=events_v2
TOKENIZERS_PARALLELISM=false
PASSENGER_APP_ENV=production2
COMPASS_HEADING=N45E
Tokens used: 1234
Secrets Manager: 2 secrets found
test_secret_rotation_v2
secret-scanning: enabled
assert parse('a:b@c') == ('a', 'b', 'c')
user@host:~/src$ ls
ann@example.org:/srv/git/repo2.git
commit message: "Add token2 parsing"
2024-01-01 12:00:00,123 INFO auth: user ann2 logged in
E   Expected: token 'abc' Got: token 'abd'
the authorization server v2 answered 200
x.key = y.key1
row.key: cell1
obj.token.start == 12
pytest.param("password", id="p1")
@pytest.mark.parametrize("password", ["", None])
@pytest.mark.parametrize(("token", "ok"), [(None, False)])
ids=["empty-password", "no-token"]
lexer tokens: ['a1', '+', 'b2']
tokens = ['def', 'foo1', '(']
tokens: [Token('a', 1), Token('b', 2)]
assert tokens == ['a1', 'b2']
tokenize("a1 b2") == ["a1", "b2"]
assert lex('x1') == [('NAME', 'x1')]
keys = ['user1', 'user2']
assert list(d.keys()) == ['k1', 'k2']
assert session == 'abc1'
session = sessionmaker(bind=engine2)
auth = client.auth2
creds = load_creds("/etc/creds1.json")
credentials = service_account.Credentials.from_file(path1)
credentials: omit
credentials: include
mode: 'same-origin', credentials: 'same-origin'
fetch(url, {credentials: "include"})
secret_key_base: <%= ENV["SECRET_KEY_BASE"] %>
license_key: MIT
ssh_key: ~/.ssh/id_rsa.pub
host_key_checking = False
api_key_header = APIKeyHeader(name="X-API-Key")
X-API-Key header is missing
Access-Control-Allow-Headers: Authorization, X-Api-Key
Access-Control-Allow-Credentials: true
Vary: Cookie, Authorization
WWW-Authenticate: Basic realm="x1"
WWW-Authenticate: Bearer realm="api2", error="invalid_token"
"""
