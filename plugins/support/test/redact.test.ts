import t from 'tap'
import { redact } from '#root'

const redaction = { mask: (text: string) => text.replaceAll('known-secret', '***'), home: '/home/ada' }
const shown = (value: unknown): string => JSON.stringify(redact(value, redaction))

t.test('known secrets, and texts that look like one, are masked in values and names', async t => {
  const secrets = [
    'known-secret',
    'sk-proj-abcdefghijklmnop1234',
    'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
    'hf_abcdefghijklmnopqrstuvwx',
    'AKIAABCDEFGHIJKLMNOP',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    'AGE-SECRET-KEY-10PNMH09AFN9QMZXJ4J9A5XSW2HZCHL648FJP',
    '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----'
  ]
  for (const secret of secrets) {
    t.notMatch(shown({ text: `before ${secret} after`, list: [[secret]], [secret]: 1 }), secret.slice(0, 20), secret)
    t.match(shown({ text: `before ${secret} after` }), /before \*\*\* after/)
  }
})

t.test('what follows a word for a secret is masked, and what a field for secrets holds', async t => {
  for (const text of [
    'Authorization: Bearer abcdef123456',
    'password=hunter2hunter2',
    'https://ada:hunter2hunter2@example.org/x',
    '{"api_key":"hunter2hunter2"}',
    'GET /x?token=hunter2hunter2&page=2'
  ])
    t.notMatch(shown({ text }), /hunter2|abcdef123456/, text)
  t.same(redact({ password: 'short', access_token: 'x', tokens: 12, token: null }, redaction), {
    password: '***',
    access_token: '***',
    tokens: 12,
    token: null
  })
})

t.test('other values stay as they are, with paths of the user shortened', async t => {
  const value = { path: '/home/ada/project/svc.toml', count: 3, on: true, none: null, url: 'https://example.org/a?b=c' }
  t.same(redact(value, redaction), { ...value, path: '~/project/svc.toml' })
})
