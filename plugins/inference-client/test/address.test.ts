import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type KernelAdmin, ownServerPath, ownServerText } from '@svc/contracts'
import t from 'tap'
import { candidates, configuredRouter, ownServer } from '#root'

const urls = (settings: Parameters<typeof candidates>[0]) => candidates(settings).map(({ url }) => url)

t.test('url has precedence over alternate_url, which has precedence over alternate_host', async t => {
  const all = { url: 'http://a:1', alternate_url: 'http://b:2', alternate_host: 'c:3' }
  t.same(urls(all), ['http://a:1'])
  t.same(urls({ alternate_url: all.alternate_url, alternate_host: all.alternate_host }), ['http://b:2'])
  t.same(urls({ alternate_host: all.alternate_host }), ['http://c:3'])
})

t.test("tries svc's own server, then Ollama's default port, if no address is set", async t => {
  t.same(urls({}), ['http://127.0.0.1:11435', 'http://127.0.0.1:11434'])
})

t.test("reads the address of svc's own server from its settings", async t => {
  const admin = (values: Readonly<Record<string, unknown>>) =>
    ({ settings: (key: string) => [{ key, value: values[key] }] }) as unknown as KernelAdmin
  const own = (host: string, port: number) =>
    ownServer(admin({ 'plugins.model-server.host': host, 'plugins.model-server.port': port }))
  t.equal(own('127.0.0.1', 9), 'http://127.0.0.1:9')
  t.equal(own('0.0.0.0', 9), 'http://127.0.0.1:9')
  t.equal(own('::', 9), 'http://[::1]:9')
  t.equal(own('box', 0), 'http://box:11435')
  t.equal(ownServer(undefined), 'http://127.0.0.1:11435')
  const [first] = candidates({}, { own: () => 'http://127.0.0.1:9' })
  t.match(first, { url: 'http://127.0.0.1:9', setting: 'default' })
})

t.test('removes a trailing slash and /v1 from a URL, and keeps any other path', async t => {
  t.same(urls({ url: 'https://host/' }), ['https://host'])
  t.same(urls({ url: 'https://host/v1' }), ['https://host'])
  t.same(urls({ url: 'https://host/models/v1/' }), ['https://host/models'])
})

t.test('accepts a host without scheme or port, and maps a wildcard address to the loopback address', async t => {
  t.same(urls({ alternate_host: 'box' }), ['http://box:11434'])
  t.same(urls({ alternate_host: 'box:80' }), ['http://box'])
  t.same(urls({ alternate_host: '0.0.0.0:5' }), ['http://127.0.0.1:5'])
  t.same(urls({ alternate_host: 'https://box:8' }), ['https://box:8'])
})

t.test('an error about an invalid address names the setting and hides the password', async t => {
  t.throws(() => candidates({ url: 'ftp://x' }), { code: 'ICL_ADDRESS_INVALID', at: { path: /\.url$/ } })
  t.throws(() => candidates({ url: 'nonsense' }), { code: 'ICL_ADDRESS_INVALID' })
  t.throws(() => candidates({ alternate_url: 'ftp://me:secret@x' }), { message: /^(?!.*secret).*alternate_url/ })
})

t.test('finds the running server of a project whose port is 0, until its process ends', async t => {
  const root = t.testdir({})
  const admin = (port: number) =>
    ({
      settings: (key: string) => [{ key, value: key.endsWith('.port') ? port : '127.0.0.1' }]
    }) as unknown as KernelAdmin
  t.equal(ownServer(admin(0), root), 'http://127.0.0.1:11435', 'no server runs')
  writeFileSync(ownServerPath(root), ownServerText('http://127.0.0.1:4567'))
  t.equal(ownServer(admin(0), root), 'http://127.0.0.1:4567')
  t.equal(ownServer(admin(9), root), 'http://127.0.0.1:9', 'a set port has precedence')
  writeFileSync(ownServerPath(root), ownServerText('http://0.0.0.0:4567'))
  t.equal(ownServer(admin(0), root), 'http://127.0.0.1:4567')
  const { pid } = spawnSync(process.execPath, ['--version'])
  const ended = { ...JSON.parse(ownServerText('http://127.0.0.1:4567')), pid }
  for (const text of [JSON.stringify(ended), '{"url":"http://127.0.0.1:4567"}', 'torn {']) {
    writeFileSync(ownServerPath(root), text)
    t.equal(ownServer(admin(0), root), 'http://127.0.0.1:11435', text)
  }
})

t.test('an enabled router is the only default address; a configured address has precedence', async t => {
  const router = () => 'http://127.0.0.1:11436'
  t.same(candidates({}, { router }), [{ url: 'http://127.0.0.1:11436', setting: 'default', api: 'openai' }])
  t.match(candidates({ url: 'http://a:1' }, { router }), [{ url: 'http://a:1', setting: 'url' }])
  t.equal(candidates({}, { router: () => null }).length, 2)
})

t.test('reads the address of the router from its settings, if it is enabled', async t => {
  const router = (values: Readonly<Record<string, unknown>>) =>
    configuredRouter({ settings: (key: string) => [{ key, value: values[key] }] } as unknown as KernelAdmin)
  const values = {
    'plugins.inference-router.enabled': true,
    'inference_router.host': '0.0.0.0',
    'inference_router.port': 11436
  }
  t.equal(router(values), 'http://127.0.0.1:11436')
  t.equal(router({ ...values, 'inference_router.host': '::1' }), 'http://[::1]:11436')
  t.equal(router({ ...values, 'plugins.inference-router.enabled': false }), null)
  t.equal(router({ ...values, 'inference_router.port': 0 }), null)
  t.equal(configuredRouter(undefined), null)
})
