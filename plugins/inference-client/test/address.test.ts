import type { KernelAdmin } from '@svc/contracts'
import t from 'tap'
import { candidates } from '../src/address.ts'
import { ownServer } from '../src/own-server.ts'

const urls = (settings: Parameters<typeof candidates>[0]) => candidates(settings).map(({ url }) => url)

t.test('url has precedence over alternate_url, and that over alternate_host', async t => {
  const all = { url: 'http://a:1', alternate_url: 'http://b:2', alternate_host: 'c:3' }
  t.same(urls(all), ['http://a:1'])
  t.same(urls({ alternate_url: all.alternate_url, alternate_host: all.alternate_host }), ['http://b:2'])
  t.same(urls({ alternate_host: all.alternate_host }), ['http://c:3'])
})

t.test('without any, this project’s own server is tried before the default one', async t => {
  t.same(urls({}), ['http://127.0.0.1:11435', 'http://127.0.0.1:11434'])
})

t.test('the address of this project’s own server comes from its settings', async t => {
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

t.test('a URL loses its last slash and the version prefix, and keeps any other path', async t => {
  t.same(urls({ url: 'https://host/' }), ['https://host'])
  t.same(urls({ url: 'https://host/v1' }), ['https://host'])
  t.same(urls({ url: 'https://host/models/v1/' }), ['https://host/models'])
})

t.test('a host may lack scheme and port, and an address of all interfaces means this machine', async t => {
  t.same(urls({ alternate_host: 'box' }), ['http://box:11434'])
  t.same(urls({ alternate_host: 'box:80' }), ['http://box'])
  t.same(urls({ alternate_host: '0.0.0.0:5' }), ['http://127.0.0.1:5'])
  t.same(urls({ alternate_host: 'https://box:8' }), ['https://box:8'])
})

t.test('an invalid address is refused with its setting, and without a password', async t => {
  t.throws(() => candidates({ url: 'ftp://x' }), { code: 'ICL_ADDRESS_INVALID', at: { path: /\.url$/ } })
  t.throws(() => candidates({ url: 'nonsense' }), { code: 'ICL_ADDRESS_INVALID' })
  t.throws(() => candidates({ alternate_url: 'ftp://me:secret@x' }), { message: /^(?!.*secret).*alternate_url/ })
})
