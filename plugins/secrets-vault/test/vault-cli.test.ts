import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { secretBackendSuite } from '@svc/contracts/conformance'
import t, { type Test } from 'tap'
import type { VaultBackend } from '#root'
import { type BackendOptions, openBackend } from './open-backend.ts'
import { startServer } from './recorded-server.ts'

const REFUSED = 'http://127.0.0.1:9'
const code = 'SEC_BACKEND_UNAVAILABLE'

/**
 * Writes a program with the behaviour of `bao kv get`, as OpenBao 2.7.2 has it. It writes its arguments and environment to
 * `call`. A file `fault` selects another behaviour.
 */
function writeProgram(t: Test): { readonly path: string; seen(): string; setFault(name: string): void } {
  const folder = t.testdir()
  const path = join(folder, 'bao')
  const script = `#!/bin/sh
folder='${folder}'
{ for each in "$@"; do echo "arg $each"; done; env; } > "$folder/call"
fault=$(cat "$folder/fault" 2>/dev/null)
case "$fault" in
  hang) sleep 60 & echo $! > "$folder/helper"; wait;;
  huge) head -c 3000000 /dev/zero; exit 0;;
  crash) echo 'panic: swordfish' >&2; exit 139;;
  number) printf 7; exit 0;;
  text) printf 'swordfish is not JSON'; exit 0;;
  killed) kill -9 $$;;
  denied) printf 'Error making API request.\\n\\nCode: 403. Errors:\\n\\n* permission denied swordfish\\n' >&2; exit 2;;
  sealed) printf 'Error making API request.\\n\\nCode: 503. Errors:\\n\\n* Vault is sealed\\n' >&2; exit 2;;
esac
case "$*" in
  'kv get -format=json -field=A -- secret/svc') printf '"sword\\\\nfish\\\\n"';;
  *' secret/svc') echo "Field \\"$4\\" not present in map" >&2; exit 1;;
  *) echo 'No value found at secret/data/other' >&2; exit 2;;
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

function openWithProgram(program: string, settings: object = {}, options: BackendOptions = {}): VaultBackend {
  const environment = { PATH: process.env.PATH, SVC_DB_TOKEN: 'other-secret', VAULT_SKIP_VERIFY: '1' }
  return openBackend({ address: REFUSED, token: 'root-token', ...settings }, { program, environment, ...options })
}

t.test('without a connection, the program of the vendor is a backend, and its messages are in no error', async t => {
  const program = writeProgram(t)
  const faults = ['hang', 'huge', 'crash', 'number', 'text', 'killed', 'denied', 'sealed'].map(name => ({
    name,
    begin: () => program.setFault(name),
    end: () => program.setFault('none')
  }))
  const backend = openWithProgram(program.path, { timeout_ms: 3_000 })
  const known = { name: 'A', value: 'sword\nfish\n' }
  for (const { name, run } of secretBackendSuite({ backend, known, unknown: 'B', hidden: ['swordfish'], faults }))
    await t.test(name, run)
})

t.test('the program gets the token in its environment, but no other secret of svc, and no shell', async t => {
  const program = writeProgram(t)
  const backend = openWithProgram(program.path, { namespace: 'team' })
  await t.rejects(backend.resolve('-x;$(touch pwned)/a b#f\'"`id`'), { code: 'SEC_NOT_FOUND' })
  const seen = program.seen()
  const args = seen.split('\n').filter(each => each.startsWith('arg '))
  t.same(
    args.map(each => each.slice(4)),
    ['kv', 'get', '-format=json', '-field=f\'"`id`', '--', 'secret/-x;$(touch pwned)/a b']
  )
  for (const vendor of ['VAULT', 'BAO']) {
    t.match(seen, `${vendor}_ADDR=${REFUSED}\n`)
    t.match(seen, `${vendor}_TOKEN=root-token\n`)
    t.match(seen, `${vendor}_NAMESPACE=team\n`)
  }
  t.notMatch(seen, /other-secret|SKIP_VERIFY/)
})

t.test('the program is used without a token, with cli = "always", and never with "never"', async t => {
  const { address, state } = await startServer(t)
  const program = writeProgram(t)
  const value = 'sword\nfish\n'
  t.equal(await openWithProgram(program.path, { address, token: undefined }).resolve('A'), value)
  t.notMatch(program.seen(), /VAULT_TOKEN/, 'the program uses its stored login')
  t.equal(await openWithProgram(program.path, { address, cli: 'always' }).resolve('A'), value)
  t.same(state.seen, [])
  t.equal(await openWithProgram(program.path, { address }).resolve('A'), 'swordfish', 'HTTP is preferred')
  await t.rejects(openWithProgram(program.path, { cli: 'never' }).resolve('A'), { code, message: /127\.0\.0\.1:9/ })
  const noToken = { address, cli: 'never', token: undefined }
  await t.rejects(openWithProgram(program.path, noToken).resolve('A'), { code, message: /neither a token/ })
})

t.test('the program is not used when the server refused, or when the token would be sent unencrypted', async t => {
  const { address, state } = await startServer(t)
  const program = writeProgram(t)
  state.tokens.clear()
  await t.rejects(openWithProgram(program.path, { address }).resolve('A'), { code, message: /the token has ended/ })
  state.fault = 'sealed'
  await t.rejects(openWithProgram(program.path, { address }).resolve('A'), { code, message: /sealed/ })
  const remote = { address: 'http://vault.example:8200', cli: 'always' }
  await t.rejects(openWithProgram(program.path, remote).resolve('A'), { code, message: /unencrypted/ })
  const approle = { token: undefined, role_id: 'role', secret_id: 'secret-id' }
  await t.rejects(openWithProgram(program.path, approle).resolve('A'), { code, message: /127\.0\.0\.1:9/ })
  t.equal(program.seen(), '')
})

t.test('without the program, the error is that of the connection', async t => {
  await t.rejects(openWithProgram('/no/such/bao').resolve('A'), { code, message: /127\.0\.0\.1:9/ })
  const always = openWithProgram('/no/such/bao', { cli: 'always' })
  await t.rejects(always.resolve('A'), { code, hint: /cli_path/ })
})

t.test('the program and its helpers end with the plugin and with the call', async t => {
  const program = writeProgram(t)
  program.setFault('hang')
  const helper = join(t.testdirName, 'helper')
  const isRunning = (pid: number): boolean => {
    try {
      process.kill(pid, 0)
      return process.platform !== 'linux' || !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
    } catch {
      return false
    }
  }
  for (const ending of ['plugin', 'call'] as const) {
    const [stop, cancel] = [new AbortController(), new AbortController()]
    const backend = openWithProgram(program.path, {}, { signal: stop.signal })
    const result = backend.resolve('A', cancel.signal).catch((caught: unknown) => caught)
    while (!existsSync(helper) || readFileSync(helper, 'utf8') === '')
      await new Promise(resolve => setTimeout(resolve, 20))
    const pid = Number(readFileSync(helper, 'utf8'))
    writeFileSync(helper, '')
    if (ending === 'plugin') stop.abort(new Error('the plugin stops'))
    else cancel.abort(new Error('the call was cancelled'))
    t.match(await result, { message: ending === 'plugin' ? /the plugin stops/ : /the call was cancelled/ })
    while (isRunning(pid)) await new Promise(resolve => setTimeout(resolve, 20))
    t.notOk(isRunning(pid), ending)
  }
})
