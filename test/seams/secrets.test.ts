import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorOf, runSvc } from '../e2e/run-svc.ts'
import { makeProject, pluginPackage } from '../e2e/served-project.ts'

const fixture = (file: string): string =>
  readFileSync(new URL(`../fixtures/plugins/secrets-sealed/${file}`, import.meta.url), 'utf8')

const VAULT = {
  'plugins/secrets-sealed/package.json': fixture('package.json'),
  'plugins/secrets-sealed/src/plugin.ts': fixture('src/plugin.ts'),
  'secrets.json': JSON.stringify({ passphrase: 'swordfish', token: Buffer.from('opensesame').toString('base64') })
}

/** Plugin with a secret setting, and an operation that returns the beginning of the secret. */
const DOOR = {
  'plugins/door/package.json': pluginPackage('door'),
  'plugins/door/src/plugin.ts': `
    import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
    const knock = defineOperation({
      id: 'door.knock', summary: 'Knock', input: t.object({}), output: t.object({ begins: t.string() }), effect: 'read'
    })
    export default definePlugin({
      name: 'door',
      config: t.object({ token: t.secret() }),
      operations: [knock],
      activate: ctx => ctx.implement(knock, () => ({ begins: ctx.config.token.slice(0, 4) }))
    })`
}

const TOML = '[plugins.door]\ntoken = "secret://sealed/token"\n'
const SEALED = `${TOML}[plugins.secrets-sealed]\npassphrase = "secret://env/PASSPHRASE"\n`

t.test('a plugin may provide a secrets backend whose settings refer to another backend', async t => {
  const folder = makeProject(t, { ...VAULT, ...DOOR, 'svc.toml': SEALED })
  const env = { PASSPHRASE: 'swordfish' }
  const ran = await runSvc(folder, ['call', 'door.knock', '--json'], { env })
  t.match(ran, { code: 0 })
  t.same(JSON.parse(ran.stdout), { begins: 'open' })

  const graph = await runSvc(folder, ['plugins', 'graph', '--json'], { env })
  for (const [from, token, to] of [
    ['door', 'secrets.backend.sealed@1', 'secrets-sealed'],
    ['secrets-sealed', 'secrets.backend.env@1', 'secrets-env']
  ])
    t.match(JSON.parse(graph.stdout).edges, new Set([{ from, token, to, kind: 'requires' }]), `${from} uses ${to}`)
})

t.test('a plugin whose secrets backend is missing waits, and the reason names the service', async t => {
  const folder = makeProject(t, { ...DOOR, 'svc.toml': TOML })
  const why = await runSvc(folder, ['plugins', 'why', 'door'])
  t.match(why.stdout, /door is waiting: .*secrets\.backend\.sealed@1/)
  const call = await runSvc(folder, ['call', 'door.knock', '--json'])
  t.match(errorOf(call), { message: /waiting.*secrets\.backend\.sealed@1/ })
})

t.test('an unknown secret fails the activation with the error of the backend', async t => {
  const folder = makeProject(t, { ...VAULT, ...DOOR, 'svc.toml': SEALED.replace('sealed/token', 'sealed/other') })
  const ran = await runSvc(folder, ['call', 'door.knock', '--json'], { env: { PASSPHRASE: 'swordfish' } })
  t.match(ran.stderr, /secret:\/\/sealed\/other: secrets\.json has no secret of that name/)
  t.notMatch(ran.stderr, /swordfish/)
})

t.test('two plugins that provide the same backend are a conflict before either runs', async t => {
  const rival = {
    'plugins/rival/package.json': pluginPackage('rival'),
    'plugins/rival/src/plugin.ts': fixture('src/plugin.ts').replace("name: 'secrets-sealed'", "name: 'rival'")
  }
  const toml = `${SEALED}[plugins.rival]\npassphrase = "swordfish"\n`
  const folder = makeProject(t, { ...VAULT, ...DOOR, ...rival, 'svc.toml': toml })
  const list = await runSvc(folder, ['plugins', 'list', '--json'], { env: { PASSPHRASE: 'swordfish' } })
  const plugins: { name: string; state: string; why: string | null }[] = JSON.parse(list.stdout).plugins
  t.match(JSON.stringify(plugins.filter(each => each.state === 'invalid')), /secrets\.backend\.sealed@1/)
})

t.test(
  'the commands of secrets store a value, find it in a setting, and check a workflow by its exit code',
  async t => {
    const folder = makeProject(t, { ...DOOR, 'svc.toml': '[plugins.door]\ntoken = "secret://auto/VOX_FORGE_TOKEN"\n' })
    const env = { HOME: join(folder, 'home'), DBUS_SESSION_BUS_ADDRESS: '', XDG_RUNTIME_DIR: '' }
    // Options of the doctor, not of svc: there is no configuration profile of that name.
    const check = ['secrets', 'doctor', '--workflow', 'publish', '--profile', 'ci', '--format', 'json-v1']
    const before = await runSvc(folder, check, { env })
    t.match([before.code, JSON.parse(before.stdout).profile], [1, 'ci'])
    writeFileSync(join(folder, 'value'), 'opensesame\n')
    const set = ['secrets', 'set', 'VOX_FORGE_TOKEN', '--store', 'vault', '--file', join(folder, 'value')]
    t.match(await runSvc(folder, set, { env }), { code: 0, stdout: /stored forge\.token in the vault, version 1/ })
    const after = await runSvc(folder, check, { env })
    t.equal(after.code, 0)
    const call = await runSvc(folder, ['call', 'door.knock', '--json'], { env })
    t.same(JSON.parse(call.stdout), { begins: 'open' })
    t.notMatch(JSON.stringify([before, after, call]), /opensesame/)
    const refused = await runSvc(folder, ['secrets', 'set', 'VOX_FORGE_TOKEN', 'opensesame'], { env })
    t.equal(refused.code, 2, 'a value is never an argument')
    t.notMatch(refused.stderr, /opensesame/)
  }
)
