import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { secretBackendSuite } from '@svc/contracts/conformance'
import t, { type Test } from 'tap'
import type { InfisicalBackend } from '#root'
import { openBackend } from './open-backend.ts'

const REFUSED = 'http://127.0.0.1:9'
const code = 'SEC_BACKEND_UNAVAILABLE'

/**
 * Writes a program with the behaviour of `infisical secrets get`, as the source of version 0.43 has it. It writes its
 * arguments and environment to `call`. A file `fault` selects another behaviour.
 */
function writeProgram(t: Test): { readonly path: string; seen(): string; setFault(name: string): void } {
  const folder = t.testdir()
  const path = join(folder, 'infisical')
  const script = `#!/bin/sh
folder='${folder}'
{ for each in "$@"; do echo "arg $each"; done; env; } > "$folder/call"
case "$(cat "$folder/fault" 2>/dev/null)" in
  crash) echo 'panic: swordfish' >&2; exit 2;;
  hang) sleep 60;;
  denied) echo 'error: CallGetRawSecretsV3: Unsuccessful response [status-code=403] [message="swordfish"]' >&2; exit 1;;
esac
for name in "$@"; do :; done
case "$name" in
  A) printf 'sword\\nfish\\n\\n';;
  EMPTY) echo;;
  OLD) echo '*not found*';;
  FOLDER) echo 'error: CallGetRawSecretsV3: Unsuccessful response [status-code=404]' >&2; exit 1;;
esac
`
  writeFileSync(path, script)
  chmodSync(path, 0o755)
  return {
    path,
    seen: () => (existsSync(join(folder, 'call')) ? readFileSync(join(folder, 'call'), 'utf8') : ''),
    setFault: name => writeFileSync(join(folder, 'fault'), name)
  }
}

function openWithProgram(program: string, settings: object = {}): InfisicalBackend {
  const environment = { PATH: process.env.PATH, SVC_DB_TOKEN: 'other-secret' }
  return openBackend({ address: REFUSED, token: 'access-token', ...settings }, { program, environment })
}

t.test('without a connection, the program of the vendor is a backend, and its messages are in no error', async t => {
  const program = writeProgram(t)
  const faults = ['crash', 'hang', 'denied'].map(name => ({
    name,
    begin: () => program.setFault(name),
    end: () => program.setFault('none')
  }))
  const backend = openWithProgram(program.path, { timeout_ms: 3_000 })
  const known = { name: 'A', value: 'sword\nfish\n' }
  for (const { name, run } of secretBackendSuite({ backend, known, unknown: 'B', hidden: ['swordfish'], faults }))
    await t.test(name, run)
  t.equal(await backend.resolve('EMPTY'), '')
  for (const name of ['OLD', 'FOLDER']) await t.rejects(backend.resolve(name), { code: 'SEC_NOT_FOUND' }, name)
})

t.test('the program gets the place as arguments, and the token in its environment', async t => {
  const program = writeProgram(t)
  await t.rejects(openWithProgram(program.path, { path: '/a b' }).resolve('--token'), { code: 'SEC_NOT_FOUND' })
  const seen = program.seen()
  const args = seen.split('\n').filter(each => each.startsWith('arg '))
  t.same(
    args.map(each => each.slice(4)),
    [
      ...['secrets', 'get', '--plain', '--silent', '--telemetry=false', '--env=dev', '--path=/a b'],
      ...['--projectId=project', `--domain=${REFUSED}/api`, '--', '--token']
    ]
  )
  t.match(seen, 'INFISICAL_TOKEN=access-token\n')
  t.notMatch(seen, 'other-secret')
})

t.test('the program is used without a token and with cli = "always", and never with "never" or a login', async t => {
  const program = writeProgram(t)
  t.equal(await openWithProgram(program.path, { token: undefined }).resolve('A'), 'sword\nfish\n')
  t.notMatch(program.seen(), /INFISICAL_TOKEN/, 'the program uses its stored login')
  t.equal(await openWithProgram(program.path, { cli: 'always' }).resolve('A'), 'sword\nfish\n')
  const before = program.seen()
  await t.rejects(openWithProgram(program.path, { cli: 'never' }).resolve('B'), { code, message: /127\.0\.0\.1:9/ })
  const login = { token: undefined, client_id: 'id', client_secret: 'hush' }
  await t.rejects(openWithProgram(program.path, login).resolve('B'), { code, message: /127\.0\.0\.1:9/ })
  await t.rejects(openWithProgram(program.path, { ...login, cli: 'always' }).resolve('B'), { code, hint: /TOKEN/ })
  await t.rejects(openWithProgram('/no/such/infisical', { cli: 'always' }).resolve('B'), { code, hint: /cli_path/ })
  t.equal(program.seen(), before)
})
