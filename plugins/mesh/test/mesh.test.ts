import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import {
  type KernelAdmin,
  type KernelPort,
  kernelAdmin,
  kernelPort,
  type MeshSettings,
  type MeshStatus,
  meshSettings,
  meshStatus
} from '@svc/contracts'
import { type CommandHandler, type CommandIo, definePlugin, type Plugin, type ServeInstead } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import mesh from '#plugin'
import { MembershipFile, storedNodeId } from '#root'
import {
  ADMIN_TOKEN,
  MESH_TOKEN,
  nodeReport,
  openWorld,
  SUBMITTER_TOKEN,
  TOKENS,
  WORKER_TOKEN
} from '../../mesh-control/test/world.ts'

interface Machine {
  readonly kernel: TestKernel
  readonly settings: MeshSettings
  readonly status: MeshStatus
  readonly folder: string
  call(id: string, input?: object): Promise<any>
  /** Handlers of the commands. */
  readonly commands: ReadonlyMap<string, CommandHandler>
}

/** Opens only the plugin, as on a machine that is no control plane. */
async function openMachine(t: Test, settings: object = {}, orchestrator: object = {}): Promise<Machine> {
  let parts: { readonly mesh: MeshSettings; readonly status: MeshStatus; readonly kernel: KernelPort } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { mesh: meshSettings, status: meshStatus, kernel: kernelPort },
    activate(_ctx, deps) {
      parts = deps
    }
  })
  const admin = {
    settings: (key: string) =>
      Object.entries(orchestrator)
        .filter(([name]) => `orchestrator.${name}` === key)
        .map(([, value]) => ({ key, value }))
  } as unknown as KernelAdmin
  const commands = new Map<string, CommandHandler>()
  const watched = definePlugin({
    ...mesh,
    activate(ctx, deps) {
      const command: typeof ctx.command = (name, run) => {
        commands.set(name, run)
        ctx.command(name, run)
      }
      const get = (on: typeof ctx, key: string | symbol): unknown => {
        const value = key === 'command' ? command : Reflect.get(on, key, on)
        return typeof value === 'function' ? value.bind(on) : value
      }
      return mesh.activate(new Proxy(ctx, { get }), deps)
    }
  })
  const kernel = await testKernel([watched as Plugin, probe as Plugin], {
    settings: { mesh: settings },
    services: [fake(kernelAdmin, admin)]
  })
  t.teardown(() => kernel.close())
  if (parts === undefined) throw new Error('the machine did not open')
  return {
    kernel,
    settings: parts.mesh,
    status: parts.status,
    folder: join(parts.kernel.stateRoot, 'plugins', 'mesh'),
    call: (id, input = {}) => kernel.callById(id, input) as Promise<any>,
    commands
  }
}

t.test('a machine has defaults, and an id that stays', async t => {
  const { settings, status, folder } = await openMachine(t)
  t.equal(status.enabled(), false)
  t.match(settings, {
    enabled: false,
    heartbeatSeconds: 30,
    httpJoin: true,
    maxStaleMs: 0,
    telemetry: false,
    gpuReadinessProbe: true
  })
  t.same(settings.controlUrls, [])
  t.equal(settings.scopeId, null)
  t.equal(settings.token('worker'), null)
  t.equal(settings.resultSigningKey(), null)
  t.notOk(existsSync(folder), 'nothing is written before the id is needed')
  const id = settings.nodeId
  t.match(id, /^[a-z0-9-]+-[0-9a-f]{12}$/)
  t.equal(settings.nodeId, id)
  t.equal(storedNodeId(join(folder, 'node-id')), id)
  t.equal(statSync(join(folder, 'node-id')).mode & 0o077, 0)
  writeFileSync(join(folder, 'node-id'), '')
  t.match(storedNodeId(join(folder, 'node-id')), /-[0-9a-f]{12}$/, 'an empty file is replaced')
})

t.test('settings win over the orchestrator only where the law says so', async t => {
  const machine = await openMachine(
    t,
    { control_url: 'a:1, b:2/', node_id: 'me', labels: ['x'], scope_id: 's', gpu_readiness_probe_off: true },
    { host_advertise_gpu: true, host_device_class: 'desktop' }
  )
  t.same(machine.settings.controlUrls, ['http://a:1', 'http://b:2'])
  t.equal(machine.settings.nodeId, 'me')
  t.equal(machine.settings.gpuReadinessProbe, false)
  t.same(machine.settings.advertise, { gpu: true, vulkan: false, webgpu: false, npu: false, deviceClass: 'desktop' })
  const other = await openMachine(t, { control_url: 'a:1' }, { mesh_control_url: 'https://c' })
  t.same(other.settings.controlUrls, ['https://c'])
  const wrong = await openMachine(t, { control_url: '0.0.0.0:9847' })
  t.throws(() => wrong.settings.controlUrls, { code: 'MSH_URL_INVALID' })
})

t.test('each plane uses the first token that opens it', async t => {
  const all = (await openMachine(t, TOKENS)).settings
  t.same([all.token('worker'), all.token('submit'), all.token('admin')], [MESH_TOKEN, MESH_TOKEN, ADMIN_TOKEN])
  const { token: _token, ...roles } = TOKENS
  const without = (await openMachine(t, roles)).settings
  t.same(
    [without.token('worker'), without.token('submit'), without.token('admin')],
    [WORKER_TOKEN, SUBMITTER_TOKEN, ADMIN_TOKEN]
  )
  const one = (await openMachine(t, { worker_token: WORKER_TOKEN })).settings
  t.same([one.token('worker'), one.token('submit'), one.token('admin')], [WORKER_TOKEN, null, null])
})

t.test('a signing key is parsed, and a wrong one is refused without its text', async t => {
  const { settings } = await openMachine(t, { result_signing_key: '07'.repeat(32) })
  t.same(settings.resultSigningKey(), new Uint8Array(32).fill(7))
  const wrong = (await openMachine(t, { result_signing_key: 'not-a-key' })).settings
  try {
    wrong.resultSigningKey()
    t.fail('it must throw')
  } catch (error) {
    t.match(error, { code: 'MSH_KEY_INVALID' })
    t.notMatch(String((error as Error).message), /not-a-key/)
  }
})

t.test('a machine joins with a one-time token, sees the mesh, manages it, and leaves', async t => {
  const plane = await openWorld(t, {
    mesh: { token: MESH_TOKEN, scope_id: 's1' },
    control: { bootstrap_token: 'boot-1' }
  })
  const url = `http://127.0.0.1:${plane.port}`
  const machine = await openMachine(t, { node_id: 'me' })
  await t.rejects(machine.call('mesh.pair'), { code: 'MSP_NOT_JOINED' })
  t.match(await machine.call('mesh.status'), { healthy: true, control_urls: [], text: /has joined no mesh/ })
  await t.rejects(machine.call('mesh.join', { url, bootstrap: 'wrong' }), { code: 'MSP_REFUSED', message: /401/ })
  t.notOk(existsSync(join(machine.folder, 'membership.json')))
  t.match(await machine.call('mesh.join', { url: `${url}/`, bootstrap: 'boot-1' }), {
    control_urls: [url],
    node_id: 'me',
    scope_id: 's1'
  })
  await t.rejects(machine.call('mesh.join', { url, bootstrap: 'boot-1' }), { code: 'MSP_REFUSED', message: /410/ })
  t.equal(machine.settings.token('worker'), MESH_TOKEN, 'the membership stays')
  t.equal(statSync(join(machine.folder, 'membership.json')).mode & 0o077, 0)

  const node = { ...nodeReport('me'), scope_id: 's1', gpu_total_count: 2, loaded_llm_models: ['m'] }
  await plane.post('/join', node, { token: MESH_TOKEN })
  await plane.post('/exec/lease/grant', { claimer_node_id: 'me', scope_key: 'task:r:1' }, { token: MESH_TOKEN })
  const status = await machine.call('mesh.status')
  t.match(status, {
    healthy: true,
    nodes: [{ id: 'me', state: 'ready', gpus: 2, models: ['m'] }],
    leases: [{ scope_key: 'task:r:1' }]
  })
  t.match(status.text, /me \(this node\) +ready/)
  t.match(status.text, /task:r:1/)

  await machine.call('mesh.admin.maintenance', { node: 'me', state: 'on', for_ms: 60_000 })
  t.match(await machine.call('mesh.status'), { nodes: [{ state: 'maintenance' }] })
  await machine.call('mesh.admin.maintenance', { node: 'me', state: 'off' })
  await machine.call('mesh.admin.quarantine', { node: 'me', state: 'on' })
  t.match(await machine.call('mesh.status'), { nodes: [{ state: 'quarantined' }] })
  await t.rejects(machine.call('mesh.admin.quarantine', { node: 'no', state: 'on' }), {
    code: 'MSP_REFUSED',
    data: { status: 404 }
  })
  await machine.call('mesh.admin.revoke_lease', { lease: status.leases[0].lease_id })
  t.same((await machine.call('mesh.status')).leases, [])

  const paired = await machine.call('mesh.pair', { minutes: 1, url: 'mesh.example.org:9847' })
  t.equal(paired.command, `svc mesh join http://mesh.example.org:9847 --bootstrap ${paired.bootstrap_token}`)
  const second = await openMachine(t)
  t.match(await second.call('mesh.join', { url, bootstrap: paired.bootstrap_token }), { scope_id: 's1' })

  t.match(await machine.call('mesh.leave'), { was_node: true, was_member: true })
  t.same(machine.settings.controlUrls, [])
  t.match(await second.call('mesh.leave'), { was_node: false, was_member: true })
})

t.test('an answer to a one-time token that has no usable mesh token leaves no membership', async t => {
  let answer = ''
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(answer)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const machine = await openMachine(t)
  for (const wrong of [
    '',
    'null',
    '[]',
    '{}',
    '{"mesh_token":""}',
    '{"mesh_token":5}',
    '{"mesh_token":"a\\r\\nX-Other: 1"}',
    `{"mesh_token":"${'x'.repeat(9_000)}"}`,
    '{"mesh_token":"a","scope_id":""}',
    '{"mesh_token":"a","scope_id":"b\\u0007"}'
  ]) {
    answer = wrong
    await t.rejects(machine.call('mesh.join', { url, bootstrap: 'b' }), { code: 'MSP_ANSWER_INVALID' }, wrong)
    t.same(machine.settings.controlUrls, [])
  }
})

t.test('a machine with a configured token joins without a one-time token, a machine without one does not', async t => {
  const plane = await openWorld(t, { mesh: { token: MESH_TOKEN } })
  const url = `127.0.0.1:${plane.port}`
  const known = await openMachine(t, { token: MESH_TOKEN })
  await known.call('mesh.join', { url })
  t.same(known.settings.controlUrls, [`http://${url}`])
  const unknown = await openMachine(t)
  await t.rejects(unknown.call('mesh.join', { url }), { code: 'MSP_REFUSED', message: /401/ })
  t.same(unknown.settings.controlUrls, [])
  for (const wrong of ['0.0.0.0:9847', '[::]:9847', 'ftp://x'])
    await t.rejects(unknown.call('mesh.join', { url: wrong }), { code: 'MSH_URL_INVALID' })
})

t.test('the next control plane is tried if one does not respond', async t => {
  const plane = await openWorld(t)
  const machine = await openMachine(t, { control_url: `http://127.0.0.1:1, http://127.0.0.1:${plane.port}` })
  t.match(await machine.call('mesh.status'), { healthy: true })
  const alone = await openMachine(t, { control_url: 'http://127.0.0.1:1' })
  t.match(await alone.call('mesh.status'), {
    healthy: false,
    error: /no control plane responds at http:\/\/127\.0\.0\.1:1/
  })
  await t.rejects(alone.call('mesh.admin.quarantine', { node: 'a', state: 'on' }), { code: 'MSP_UNREACHABLE' })
})

t.test('the status leaves out nodes that were not seen for too long, and shows no control characters', async t => {
  const plane = await openWorld(t)
  await plane.post('/join', { ...nodeReport('n1'), version: 'v\u001b[31m' })
  const url = `http://127.0.0.1:${plane.port}`
  const shown = await (await openMachine(t, { control_url: url })).call('mesh.status')
  t.equal(shown.nodes.length, 1)
  t.notOk(shown.text.includes('\u001b'))
  const machine = await openMachine(t, { control_url: url, max_stale_ms: 1 })
  await new Promise(resolve => setTimeout(resolve, 20))
  t.same((await machine.call('mesh.status')).nodes, [])
})

t.test('a membership that another process writes is noticed; a broken one is refused with its path', async t => {
  const { settings, folder, call } = await openMachine(t, { node_id: 'me' })
  const path = join(folder, 'membership.json')
  const other = new MembershipFile(path)
  other.set({ controlUrls: ['http://a:1'], token: 'secret-token', scopeId: null })
  t.same(settings.controlUrls, ['http://a:1'])
  t.equal(settings.token('submit'), 'secret-token')
  fc.assert(
    fc.property(fc.webUrl(), fc.option(fc.stringMatching(/^[\w-]{1,40}$/)), (url, token) => {
      const controlUrls = [new URL(url).origin]
      other.set({ controlUrls, token, scopeId: null })
      t.same(settings.controlUrls, controlUrls)
      t.equal(settings.token('worker'), token)
    }),
    { numRuns: 20 }
  )
  for (const broken of [
    '{',
    '{"control_urls":[]}',
    '{"control_urls":["http://0.0.0.0"]}',
    '{"control_urls":["a"],"token":"a b"}'
  ]) {
    writeFileSync(path, broken)
    t.throws(() => settings.controlUrls, broken)
  }
  await t.rejects(call('mesh.status'), { code: 'MSP_FILE_UNREADABLE', message: /membership\.json/ })
  t.equal(other.remove(), true)
  t.equal(other.remove(), false)
  t.same(settings.controlUrls, [])
})

t.test('svc mesh up keeps a mesh token, prints the command to join, and serves only the control plane', async t => {
  const { commands, settings, folder } = await openMachine(t)
  const up = async (
    input: Readonly<Record<string, unknown>>,
    json = false
  ): Promise<{ readonly text: string; readonly serve: ServeInstead }> => {
    let text = ''
    const stdout = new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk)
        done()
      }
    })
    const io = { stdin: process.stdin, stdout, stderr: stdout, json, signal: new AbortController().signal } as CommandIo
    const serve = (await commands.get('mesh up')?.(input, io)) as ServeInstead
    t.equal(text, '', 'nothing is printed before the control plane listens')
    serve.onServing?.()
    return { serve, text }
  }
  const first = await up({ host: '127.0.0.1', port: 9_999 })
  t.match(first.text, /svc mesh join http:\/\/127\.0\.0\.1:9999 --bootstrap \S{32}/)
  t.match(first.serve, {
    only: ['mesh-control'],
    set: { 'plugins.http.main': false, 'plugins.mesh-control.port': 9_999 }
  })
  const token = settings.token('admin')
  t.match(token, /^[\w-]{43}$/)
  t.notMatch(first.text, new RegExp(token as string))
  t.equal(JSON.parse(readFileSync(join(folder, 'membership.json'), 'utf8')).token, token)
  const second = await up({ url: 'https://mesh.example.org' }, true)
  t.match(JSON.parse(second.text), {
    control_urls: ['https://mesh.example.org'],
    command: /^svc mesh join https:\/\/mesh\.example\.org --bootstrap /
  })
  t.equal(settings.token('admin'), token, 'the token stays the same')
  t.equal(second.serve.set['plugins.mesh-control.host'], '0.0.0.0')
  await t.rejects(up({ url: 'http://0.0.0.0:1' }), { code: 'MSH_URL_INVALID' })
})
