import { TEST_PATH, type TextRule } from './rule.ts'

/** Values that stand for a secret, or name where it comes from. */
const NO_SECRET =
  /(?:example|sample|placeholder|changeme|change[-_ ]me|your[-_ ]|dummy|fake|redacted|xxxx|\*\*\*|<[a-z_ -]+>|\$\{|\{\{|%s|process\.env|environ|getenv|secret:\/\/|lorem|not[-_ ]a[-_ ]secret)/i

/** Rules of the families `security` and `magic-value`: literals that belong in settings. */
export const LITERAL_RULES: readonly TextRule[] = [
  {
    id: 'security/hardcoded-secret/aws-key',
    name: 'AWS access key',
    severity: 'critical',
    in: 'text',
    pattern: /(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Z0-9])/g,
    needs: ['akia', 'asia'],
    skip: [/EXAMPLE|ABCDEFGH/],
    message: 'the text contains an AWS access key',
    suggestion: 'revoke the key, and read its successor from a secrets backend',
    fixtures: {
      path: 'a.py',
      hits: [
        `KEY = "${'AKIA'}2E0A8F3B244C9986"`
          .replace('0', '3')
          .replace('8F', '7F')
          .replace('9986', '4556')
          .replace('3B', '2B')
      ],
      misses: ['KEY = "AKIAIOSFODNN7EXAMPLE"', 'AKIA = 1']
    }
  },
  {
    id: 'security/hardcoded-secret/jwt',
    name: 'JSON Web Token',
    severity: 'error',
    in: 'text',
    pattern: /(?<![\w-])eyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{16,2000}/g,
    needs: ['eyj'],
    skipPaths: TEST_PATH,
    message: 'the text contains a signed token',
    suggestion: 'revoke the token, and read its successor from a secrets backend',
    fixtures: {
      path: 'a.ts',
      hits: [`const t = '${'eyJhbGciOiJIUzI1NiJ9'}.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJlLW9mLXRva2Vu'`],
      misses: ["const header = 'eyJhbGciOiJIUzI1NiJ9'"]
    }
  },
  {
    id: 'security/hardcoded-secret/private-key',
    parentId: 'security/hardcoded-secret/generic',
    name: 'private key',
    severity: 'error',
    in: 'text',
    pattern: /-----BEGIN (?:RSA |EC |OPENSSH |DSA |PGP )?PRIVATE KEY(?: BLOCK)?-----(?:\\n|\s)+[A-Za-z0-9+/]{40}/g,
    needs: ['private key'],
    skipPaths: TEST_PATH,
    message: 'the text contains a private key',
    suggestion: 'replace the key pair, and read the key from a file outside the repository',
    fixtures: {
      path: 'a.py',
      hits: [`KEY = """-----BEGIN RSA ${'PRIVATE'} KEY-----\n${'MIIEpAIBAAKCAQEA7bq1'.repeat(3)}\n"""`],
      misses: ['MARK = "-----BEGIN PRIVATE KEY-----"']
    }
  },
  {
    id: 'security/hardcoded-secret/generic',
    name: 'literal that looks like a credential',
    severity: 'error',
    in: 'source',
    pattern:
      /\b[\w$]*(?:passw(?:or)?d|passwd|secret|api_?key|apikey|auth_?token|access_?token|bearer_?token|private_?key|client_?secret)[\w$]*["']?\s*(?:(?::\s*[&\w' ]{1,24})?=(?!=)|:)\s*["'`](?=[^"'`\s]*\d)(?=[^"'`\s]*[A-Za-z])[^"'`\s]{10,200}["'`]/gi,
    needs: ['passw', 'secret', 'key', 'token'],
    skip: [NO_SECRET, /["'`](?:https?:|[A-Z_]{3,}["'`]|[a-z]+(?:[-_.][a-z]+)*\d?["'`])/],
    skipPaths: TEST_PATH,
    message: 'a literal is assigned to a name of a credential',
    suggestion: 'read it from a secret setting or a secrets backend, and replace the exposed value',
    fixtures: {
      path: 'a.ts',
      hits: [
        "const apiKey = 'sk9f83hfq8h3f9q8hf'",
        'password: "hunter2hunter2"',
        "let client_secret: string = 'a8Zk29xQpL01'"
      ],
      misses: [
        "const password = process.env.PASSWORD ?? ''",
        "const apiKey = 'your-api-key-1234'",
        "const tokenUrl = 'https://example.org/t0ken'",
        "const secretName = 'db-password'"
      ]
    }
  },
  {
    id: 'magic-value/db-conn',
    name: 'database address in code',
    severity: 'error',
    in: 'string',
    pattern:
      /\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|rediss|amqps?|mssql):\/\/[^\s"'`]*[^\s"'`:/]/gi,
    needs: ['://'],
    skip: [/(?:postgres(?:ql)?|mysql|mongodb|redis|amqp)s?:\/\/(?:\$|\{|%|<|\.\.\.|…|user:|host\b)/i],
    skipPaths: TEST_PATH,
    message: 'the address of a database is fixed in the code',
    suggestion: 'read it from the settings',
    fixtures: {
      path: 'a.py',
      hits: ['DB = "postgres://app:pw@db.internal/app"', 'connect("redis://cache:6379/0")'],
      misses: ['text.startswith("postgres://")', 'DB = f"postgres://{user}:{pw}@{host}"']
    }
  },
  {
    id: 'magic-value/ip',
    name: 'IP address in code',
    severity: 'warning',
    in: 'string',
    pattern:
      /(?<![\d.\w-])(?!127\.|0\.0\.0\.0|255\.255|224\.0\.0|169\.254\.169\.254|1\.2\.3\.4|192\.0\.2\.|198\.51\.100\.|203\.0\.113\.)(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?![\d.]|\/\d|-)/g,
    needs: ['.'],
    // `magic-value/db-conn` reports the address of a database.
    skip: [
      /version|agent|mozilla|chrome\//i,
      /\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|mssql):\/\//i
    ],
    skipPaths: TEST_PATH,
    message: 'an IP address is fixed in the code',
    suggestion: 'read it from the settings',
    fixtures: {
      path: 'a.ts',
      hits: ["connect('10.20.30.40')", "const host = '192.168.1.17'"],
      misses: ["listen('127.0.0.1')", "const version = '1.2.3.40'", "const net = '10.0.0.0/8'"]
    }
  },
  {
    id: 'magic-value/path',
    name: 'absolute path in code',
    severity: 'warning',
    in: 'string',
    pattern:
      /(?:^|["'`=: ])(?:\/(?:home|Users)\/[\w.-]+\/[\w./-]+|\/(?:opt|srv|mnt)\/[\w.-]+\/[\w./-]+|[A-Z]:\\{1,2}(?:Users|Program Files)[\w\\ .-]*)/g,
    needs: ['/home/', '/users/', '/opt/', '/srv/', '/mnt/', ':\\'],
    skipPaths: TEST_PATH,
    message: 'a path of one machine is fixed in the code',
    suggestion: 'build it from the project folder, the home folder or a setting',
    fixtures: {
      path: 'a.py',
      hits: ['open("/home/ann/data/a.csv")', 'ROOT = "C:\\\\Users\\\\ann"', 'p = "/opt/app/conf.d"'],
      misses: ['open("/dev/null")', 'route("/users/list/all")', 'open("data/home/x/y")']
    }
  },
  {
    id: 'magic-value/port',
    name: 'port in code',
    severity: 'warning',
    in: 'source',
    pattern:
      /\b(?:listen|bind|connect|createServer)\s*\(\s*(?:["'`][\w.:]*["'`]\s*,\s*)?\d{4,5}\b|\bport["']?\s*[:=]\s*(?:Number\()?["'`]?\d{4,5}\b|\b(?:listen|bind|connect)\s*\(\s*["'`][^"'`\n]{0,60}:\d{4,5}["'`]/gi,
    needs: ['port', 'listen', 'bind', 'connect', 'createserver'],
    skip: [
      /^\s*(?:export\s+)?(?:pub\s+)?(?:const|static|final)\s+[A-Z][A-Z0-9_]*\b/,
      /^\s*[A-Z][A-Z0-9_]*\s*(?::\s*\w+\s*)?=/,
      /default|schema|\bt\.\w+\(|env/i
    ],
    skipPaths: TEST_PATH,
    message: 'a port is fixed in the code',
    suggestion: 'read it from the settings, or name it as a constant',
    fixtures: {
      path: 'a.ts',
      hits: ['server.listen(8080)', 'const options = { port: 3000 }', 'connect("db", 5432)'],
      misses: ['const DEFAULT_PORT = 8080', 'const report = 20_000', 'listen(port)', 'const year = 2026']
    }
  }
]
