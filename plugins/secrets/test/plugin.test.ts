import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DeclaredSecretResolver,
  declaredSecretResolver,
  declaredSecrets,
  type SecretBackend,
  secretBackend,
  secretErrors
} from '@svc/contracts'
import { secretBackendSuite } from '@svc/contracts/conformance'
import { definePlugin, isSvcError } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { openWorld, type WorldOptions } from './world.ts'

const KEY = 'OPENROUTER_API_KEY'

/** Opens a world with a plugin that declares a secret, and returns its view of the resolver. */
async function openProbe(t: Test, options: WorldOptions = {}) {
  let parts: { readonly resolver: DeclaredSecretResolver; readonly auto: SecretBackend } | undefined
  const probe = definePlugin({
    name: 'weather',
    requires: { resolver: declaredSecretResolver, auto: secretBackend('auto') },
    activate(ctx, deps) {
      parts = deps
      ctx.contribute(declaredSecrets, {
        id: 'weather.key',
        env: 'WEATHER_KEY',
        aliases: ['FORECAST_KEY'],
        backendKey: 'weather/key',
        registry: 'weather',
        policy: 'required',
        deviceLocalOnly: true,
        description: 'Forecasts',
        remediation: 'buy a key'
      })
    }
  })
  const world = await openWorld(t, { ...options, plugins: [probe, ...(options.plugins ?? [])] })
  if (parts === undefined) throw new Error('the probe did not start')
  return { ...world, ...parts }
}

t.test('a plugin declares a secret, and a user stores it, reads it and replaces it', async t => {
  const { run, resolver, auto, call } = await openProbe(t)
  t.match(await resolver.find('weather.key'), { status: 'MissingRequired', present: false })
  await t.rejects(resolver.resolve('weather.key'), { code: 'SEC_NOT_FOUND', hint: 'buy a key' })
  t.match(await run('secrets get', { name: 'weather.key' }), { code: 1, stdout: /MissingRequired[\s\S]*buy a key/ })
  t.match((await run('secrets set', { name: 'WEATHER_KEY' }, 'swordfish-1\n')).stdout, /vault, version 1/)
  t.equal(await resolver.resolve('FORECAST_KEY'), 'swordfish-1')
  t.match(await resolver.find('weather'), {
    status: 'Present',
    source: 'ExternalBackend',
    place: 'vox_cloud/weather/key'
  })
  t.match(await run('secrets rotate', { name: 'weather.key' }, 'swordfish-2'), { stdout: /version 2/ })
  t.match(await run('secrets get', { name: 'weather.key', reveal: true }), { code: 0, stdout: 'swordfish-2\n' })
  t.match(await call('secrets.rollback', { name: 'weather', number: 1 }), { version: 3 })
  t.match(await call('secrets.versions', { name: 'weather' }), {
    name: 'weather.key',
    versions: [{ operation: 'rollback', created_by: 'api' }, { operation: 'rotate' }, { operation: 'create' }]
  })
  for (const { name, run } of secretBackendSuite({
    backend: auto,
    known: { name: 'weather.key', value: 'swordfish-1' },
    unknown: 'unknown'
  }))
    await t.test(name, run)
})

t.test('the audit log is read in pages', async t => {
  const { call } = await openWorld(t, { vault: { audit_log: true } })
  for (let version = 1; version <= 5; version++) await call('secrets.set', { name: KEY, value: `sk-value-${version}` })
  const details: string[] = []
  let pages = 0
  for (let before: number | null | undefined; before !== null; pages++) {
    const { rows, next } = await call('secrets.audit', { limit: 2, name: KEY, ...(before && { before }) })
    details.push(...rows.map((row: { detail: string }) => row.detail))
    before = next
  }
  t.same(details, ['version 5', 'version 4', 'version 3', 'version 2', 'version 1'])
  t.equal(pages, 3)
})

t.test('a profile has a separate value until it is removed', async t => {
  const { run, home } = await openWorld(t)
  await run('secrets set', { name: KEY }, 'sk-canonical-1')
  t.match(await run('secrets set', { name: KEY, override: 'prod' }, 'sk-prod-12345'), {
    stdout: /for the profile prod/
  })
  await t.rejects(run('secrets set', { name: KEY, override: 'prod', store: 'auth' }, 'x'), { code: 'SCR_NOT_STORABLE' })
  t.match(await run('secrets get', { name: KEY, reveal: true }), { stdout: 'sk-canonical-1\n' })
  const prod = await openWorld(t, { home, settings: { profile: 'prod' } })
  t.match(await prod.run('secrets get', { name: KEY }), { stdout: /ProfileOverrideUsed/ })
  await prod.call('secrets.remove_override', { name: KEY, override: 'prod' })
  t.match(await prod.run('secrets get', { name: KEY, reveal: true }), { stdout: 'sk-canonical-1\n' })
})

t.test('an agent reads and replaces a delegated secret by its token, until the delegation is revoked', async t => {
  const { run, call, log } = await openWorld(t)
  await run('secrets set', { name: KEY }, 'sk-delegated-1')
  const { id, token, text } = await call('secrets.delegate', { name: KEY, agent: 'coder', scope: ['read', 'rotate'] })
  t.match(text, /coder may read and rotate openrouter\.api_key/)
  t.same(await call('secrets.delegated.read', { token }), { value: 'sk-delegated-1' })
  t.same(await call('secrets.delegated.rotate', { token, value: 'sk-delegated-2' }), { version: 2 })
  t.match(await call('secrets.delegations'), { delegations: [{ id, agent: 'coder', state: 'active' }] })
  t.match(await call('secrets.revoke', { id }), { revoked: true })
  t.match(await call('secrets.delegations'), { delegations: [{ state: 'revoked' }] })
  const error = await call('secrets.delegated.read', { token }).catch((caught: unknown) => caught)
  t.match(error, { code: 'SEV_DELEGATION_INVALID' })
  t.notMatch(JSON.stringify([log, error, String(error)]), new RegExp(`sk-delegated|${token.split('.')[1]}`))
})

t.test('without a vault, secrets of registries are in the keyring, and the auth file refers to it', async t => {
  const { run, home } = await openWorld(t, { without: ['vault'] })
  t.match(await run('secrets login', { registry: 'forge', username: 'me' }, 'token-of-forge'), { stdout: /keyring/ })
  const auth = readFileSync(join(home, '.vox', 'auth.json'), 'utf8')
  t.same(JSON.parse(auth), { registries: { forge: { token: '__secrets_keyring__', username: 'me' } } })
  t.match(await run('secrets get', { name: 'VOX_FORGE_TOKEN' }), { stdout: /SecureStore .*toke…ge \(redacted\)/ })
  t.match(await run('secrets set', { name: 'other-registry' }, 'abcdefghij'), { stdout: /stored other-registry/ })
  await t.rejects(run('secrets set', { name: 'SOME_UNKNOWN_NAME' }, 'abcdefghij'), { code: 'SEC_UNDECLARED' })
  await t.rejects(run('secrets set', { name: KEY, store: 'vault' }, 'abcdefghij'), { code: 'SCR_NO_VAULT' })
  await t.rejects(run('secrets rotate', { name: KEY }, 'abcdefghij'), { code: 'SCR_NO_VAULT' })
})

t.test('a secret that was stored under its variable is found, also if a plugin names a registry for it', async t => {
  const { run, home, resolver } = await openProbe(t, { without: ['vault'] })
  t.match(await run('secrets set', { name: 'SVC_DB_TOKEN', store: 'auth' }, 'token-of-db'), { stdout: /auth/ })
  t.match(await run('secrets get', { name: 'SVC_DB_TOKEN' }), { stdout: /AuthJson/ })
  const auth = join(home, '.vox', 'auth.json')
  writeFileSync(auth, JSON.stringify({ registries: { WEATHER_KEY: { token: 'by-variable' } } }), { mode: 0o600 })
  t.equal(await resolver.resolve('weather.key'), 'by-variable')
  const both = { WEATHER_KEY: { token: 'by-variable' }, weather: { token: 'by-registry' } }
  writeFileSync(auth, JSON.stringify({ registries: both }), { mode: 0o600 })
  t.equal(await resolver.resolve('weather.key'), 'by-registry')
})

t.test('plain tokens move to the keyring, also the old file of the package registry', async t => {
  const { run, home } = await openWorld(t, { without: ['vault'] })
  mkdirSync(join(home, '.vox'))
  const auth = join(home, '.vox', 'auth.json')
  writeFileSync(auth, JSON.stringify({ registries: { forge: { token: 'plain-forge' } } }))
  writeFileSync(join(home, '.vox', 'auth_token'), 'plain-packages\n')
  chmodSync(auth, 0o644)
  t.match(await run('secrets get', { name: 'forge' }), { stdout: /AuthJson/ })
  t.match(await run('secrets get', { name: 'packages' }), { stdout: /LegacyAuthToken/ })
  t.match(await run('secrets doctor'), { stdout: /chmod 600/ })
  t.match(await run('secrets migrate-auth-store'), { stdout: /forge, packages/ })
  t.notMatch(readFileSync(auth, 'utf8'), /plain/)
  t.equal(statSync(auth).mode & 0o777, 0o600)
  t.notOk(existsSync(join(home, '.vox', 'auth_token')))
  t.match(await run('secrets get', { name: 'forge', reveal: true }), { stdout: 'plain-forge\n' })
  t.match(await run('secrets get', { name: 'packages', reveal: true }), { stdout: 'plain-packages\n' })
  t.match(await run('secrets migrate-auth-store'), { stdout: /no token/ })
})

t.test('declared secrets of a .env file are imported, others are left out', async t => {
  const { run, root, call } = await openWorld(t)
  writeFileSync(join(root, '.env'), `${KEY}=sk-imported-1\nHF_TOKEN=\nNAME=me\n`)
  t.match(await run('secrets doctor'), { stdout: new RegExp(`has ${KEY}, HF_TOKEN; run: svc secrets import-env`) })
  t.match(await run('secrets import-env', { dry_run: true }), { stdout: new RegExp(`${KEY}: would be stored`) })
  t.same((await call('secrets.versions', { name: KEY })).versions, [])
  const { stdout } = await run('secrets import-env', {}, '', true)
  t.match(JSON.parse(stdout).variables, [
    { name: KEY, id: 'openrouter.api_key', state: 'stored' },
    { name: 'HF_TOKEN', state: 'left out: empty' },
    { name: 'NAME', id: null, state: /left out/ }
  ])
  t.match((await call('secrets.versions', { name: KEY })).versions, [{ operation: 'import', created_by: 'cli' }])
  await t.rejects(run('secrets import-env', { file: 'missing.env' }), { code: 'SCR_FILE_INVALID' })
})

t.test('secrets of a mesh are written to the mesh file, from which they are found', async t => {
  const first = await openWorld(t, { env: { SVC_MESH_TOKEN: 'mesh-token-1', SVC_MESH_SCOPE_ID: 'scope "x"' } })
  await t.rejects(first.run('secrets sync'), { code: 'SCR_NOTHING_CHOSEN' })
  t.match(await first.run('secrets sync', { mesh: true }), { stdout: /wrote SVC_MESH_SCOPE_ID, SVC_MESH_TOKEN/ })
  const file = join(first.root, '.vox', 'populi', 'mesh.env')
  t.equal(statSync(file).mode & 0o777, 0o600)
  delete process.env.SVC_MESH_TOKEN
  t.match(await first.run('secrets get', { name: 'SVC_MESH_TOKEN', reveal: true }), { stdout: 'mesh-token-1\n' })
  t.match(await first.run('secrets get', { name: 'mesh.token' }), { stdout: /MeshEnvFile/ })
  writeFileSync(file, `${readFileSync(file, 'utf8')}${KEY}=sk-from-mesh\n`)
  t.match(await first.run('secrets get', { name: KEY }), { code: 1 }, 'the file is only for secrets of a mesh')
})

t.test('the doctor checks a workflow, and its exit code is 1 for an unmet requirement', async t => {
  const { run, call } = await openWorld(t)
  const exit = async (input: object) => (await run('secrets doctor', input)).code
  for (const [input, code] of [
    [{}, 0],
    [{ workflow: 'mcp', mode: 'local', profile: 'prod' }, 0],
    [{ workflow: 'chat', mode: 'cloud' }, 1],
    [{ workflow: 'chat', profile: 'mobile' }, 0],
    [{ workflow: 'chat', profile: 'prod' }, 1],
    [{ workflow: 'publish' }, 1],
    [{ workflow: 'db-remote' }, 1],
    [{ workflow: 'mens-mesh' }, 1],
    [{ bundle: 'minimal_local_dev' }, 0],
    [{ bundle: 'gpu_cloud' }, 1],
    [{ bundle: 'mesh_roles' }, 1]
  ] as const)
    t.equal(await exit(input), code, JSON.stringify(input))
  Object.assign(process.env, { [KEY]: 'sk-1234567890', SVC_DB_URL: 'libsql://a', SVC_DB_TOKEN: 'token-of-db' })
  Object.assign(process.env, { VAST_API_KEY: 'vast-1234', SVC_MESH_WORKER_TOKEN: 'worker-1234' })
  t.equal(await exit({ workflow: 'chat', profile: 'prod' }), 0)
  t.equal(await exit({ workflow: 'chat', profile: 'ci' }), 1, 'ci also needs a forge')
  process.env.GITLAB_TOKEN = 'gitlab-1234'
  t.equal(await exit({ workflow: 'chat', profile: 'ci', bundle: 'gpu_cloud' }), 0)
  t.equal(await exit({ workflow: 'db-remote' }), 0)
  t.equal(await exit({ workflow: 'mens-mesh' }), 0)
  t.equal(await exit({ bundle: 'mesh_roles' }), 1, 'all three roles are needed')
  t.match(await call('secrets.doctor', { workflow: 'publish' }), { healthy: true, workflow: 'publish' })
})

t.test('the document json-v1 has the documented keys, and no value of a secret', async t => {
  const value = 'sk-very-secret-1234567890'
  const { run } = await openWorld(t, { env: { [KEY]: value, GH_TOKEN: 'ghp-very-secret' } })
  const { stdout } = await run('secrets status', { workflow: 'review', format: 'json-v1' })
  t.notMatch(stdout, /very-secret/)
  const report = JSON.parse(stdout)
  t.same(Object.keys(report), [
    ...[
      'schema',
      'generated_at_ms',
      'workflow',
      'profile',
      'mode',
      'vault_diagnostic',
      'backend_mode',
      'rollout_flags'
    ],
    ...['secrets', 'account_warning', 'suggested_migrations']
  ])
  const row = report.secrets.find(({ canonical_env }: { canonical_env: string }) => canonical_env === 'VOX_FORGE_TOKEN')
  t.same(row, {
    id: 'forge.token',
    canonical_env: 'VOX_FORGE_TOKEN',
    status: 'DeprecatedAliasUsed',
    source: 'EnvAlias',
    class: 'account',
    material_kind: 'token',
    capabilities: ['publish', 'review'],
    bundle_membership: ['publish_review'],
    is_present: true,
    redacted_value: 'ghp-…et (redacted)',
    remediation: row.remediation,
    deprecated_alias_in_use: 'GH_TOKEN',
    feature_gate_missing: null
  })
  t.ok(report.suggested_migrations.some((text: string) => text.includes('GH_TOKEN')))
  t.match(
    (await run('secrets doctor')).stdout,
    /^cloudless_vault_store: mode=local_file; url_source=vault_path; url_host_hint=vault\.db; token_source=none; token_present=false; compat_aliases_allowed=true$/m
  )
})

t.test('phases and profiles refuse sources, and never the backend', async t => {
  const env = { [KEY]: 'sk-from-env-12345', GH_TOKEN: 'ghp-very-secret', SVC_SOCIAL_REDDIT_CLIENT_ID: 'client-1' }
  const status = async (name: string, settings: object) => {
    const { run } = await openWorld(t, { settings: { ...settings }, env })
    return JSON.parse((await run('secrets get', { name }, '', true)).stdout)
  }
  t.match(await status(KEY, { profile: 'prod' }), { status: 'Present', source: 'EnvCanonical' })
  t.match(await status(KEY, { cutover_phase: 'enforce' }), { status: 'RejectedSourcePolicy' })
  t.match(await status(KEY, { cutover_phase: 'canary' }), { status: 'Present' })
  t.match(await status(KEY, { cutover_phase: 'canary', profile: 'ci' }), { status: 'RejectedSourcePolicy' })
  t.match(await status('forge.token', { profile: 'hard_cut' }), { status: 'RejectedLegacyAlias' })
  t.match(await status('reddit.client_id', { profile: 'prod' }), { status: 'RejectedClassPolicy' })
  const { run, home } = await openWorld(t, { settings: { cutover_phase: 'decommission', backend: 'env_only' }, env })
  await run('secrets set', { name: KEY }, 'sk-from-vault-1')
  t.match(await run('secrets get', { name: KEY }), { stdout: /ExternalBackend/ })
  await t.rejects(
    (await openWorld(t, { home, settings: { cutover_phase: 'decommission' }, without: ['vault'], env })).run(
      'secrets get',
      {
        name: KEY,
        reveal: true
      }
    ),
    { code: 'SEC_BACKEND_UNAVAILABLE' }
  )
})

t.test('other backends are selected by name or by their variables, next to the vault', async t => {
  const infisical = secretBackend('infisical')
  const other = definePlugin({
    name: 'secrets-infisical',
    provides: [infisical],
    activate(ctx) {
      ctx.provide(infisical, {
        async resolve(name) {
          if (name === KEY) return 'sk-from-infisical'
          if (name === 'HF_TOKEN') throw new Error('the server is down')
          throw secretErrors.create('SEC_NOT_FOUND', `secret://infisical/${name}: no such secret`)
        }
      })
    }
  })
  const named = await openWorld(t, { settings: { backend: 'infisical' }, plugins: [other] })
  t.match(await named.run('secrets get', { name: KEY, reveal: true }), { stdout: 'sk-from-infisical\n' })
  t.match(await named.run('secrets get', { name: 'groq' }), { stdout: /MissingOptional/ })
  t.match(await named.run('secrets get', { name: 'HF_TOKEN' }), { stdout: /BackendUnavailable[\s\S]*server is down/ })
  const auto = await openWorld(t, { vault: { path: undefined }, plugins: [other], env: { INFISICAL_TOKEN: 'x' } })
  t.match(await auto.call('secrets.backend_status'), { backend_mode: 'infisical', selected_by: 'INFISICAL_TOKEN' })
  const missing = await openWorld(t, { settings: { backend: 'vault' } })
  t.match(await missing.call('secrets.backend_status'), { healthy: false, backend_mode: 'vault' })
  t.match(await missing.run('secrets doctor'), { stdout: /no active plugin provides secrets\.backend\.vault@1/ })
  const none = await openWorld(t, { without: ['keyring'] })
  t.match(await none.call('secrets.backend_status'), { healthy: true, backend_mode: 'env_only' })
})

t.test('no value of a secret is in a log, a result or an error of any command or operation', async t => {
  const values = ['known-secret-alpha', 'known-secret-beta', 'known-secret-gamma']
  const { run, call, log, home, root } = await openWorld(t, {
    settings: { profile: 'prod' },
    env: { HF_TOKEN: values[2] ?? '' }
  })
  const seen: unknown[] = []
  const record = async (work: Promise<unknown>): Promise<void> => {
    seen.push(
      await work.catch((error: unknown) => (isSvcError(error) ? { ...error, message: error.message } : String(error)))
    )
  }
  writeFileSync(join(root, '.env'), `GROQ_API_KEY=${values[1]}\n`)
  for (const [command, input] of [
    ['secrets set', { name: KEY, store: 'vault' }],
    ['secrets set', { name: KEY, store: 'keyring' }],
    ['secrets set', { name: 'SVC_DB_TOKEN', store: 'auth' }],
    ['secrets set', { name: 'UNKNOWN_NAME' }],
    ['secrets login', { registry: 'forge' }],
    ['secrets rotate', { name: KEY }],
    ['secrets rotate', { name: 'groq' }],
    ['secrets import-env', {}],
    ['secrets get', { name: KEY }],
    ['secrets get', { name: 'HF_TOKEN' }],
    ['secrets doctor', {}],
    ['secrets doctor', { format: 'json-v1' }],
    ['secrets migrate-auth-store', {}],
    ['secrets sync', { mesh: true }]
  ] as const)
    await record(run(command, input, values[0]))
  for (const [id, input] of [
    ['secrets.set', { name: KEY, value: values[1] }],
    ['secrets.set', { name: KEY, value: values[1], store: 'nowhere' }],
    ['secrets.set', { name: 'mesh.token', value: values[1], store: 'auth' }],
    ['secrets.versions', { name: KEY }],
    ['secrets.rollback', { name: KEY, number: 99 }],
    ['secrets.rewrap', {}],
    ['secrets.audit', {}],
    ['secrets.backend_status', {}],
    ['secrets.doctor', {}]
  ] as const)
    await record(call(id, input))
  const text = JSON.stringify([seen, log])
  for (const value of values) t.notOk(text.includes(value), `${value.slice(-5)} is not shown`)
  t.match(text, /known-secret|know…/, 'redacted forms are shown')
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' }).map(name => join(home, name))
  for (const file of files.filter(each => statSync(each).isFile())) {
    t.equal(statSync(file).mode & 0o077, 0, `${file} is private`)
    if (!file.includes('keyring') && !file.endsWith('auth.json'))
      for (const value of values) t.notOk(readFileSync(file).includes(value), file)
  }
})
