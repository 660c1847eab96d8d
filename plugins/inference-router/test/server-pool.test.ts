import type { InferenceServer } from '@svc/contracts'
import t from 'tap'
import { configuredServers, type ModelServer, PoolFeed, PrefixIndex, ServerPool } from '#root'

function pool() {
  const index = new PrefixIndex()
  const servers = new ServerPool({ newResidency: () => index.newResidency(), now: () => 0 })
  const warnings: unknown[] = []
  const feed = new PoolFeed(servers, (_, fields) => warnings.push(fields.problem))
  return { servers, feed, warnings, names: () => [...servers].map(({ name }) => name) }
}

const entry = (name: string, more: Partial<InferenceServer> = {}): InferenceServer => ({
  name,
  url: `http://${name}`,
  api: 'openai',
  ...more
})

t.test('a server keeps its measurements while its entry stays the same; weight and slots may change', async t => {
  const { servers, feed } = pool()
  const only = () => [...servers][0] as ModelServer
  feed.configure([entry('a')])
  const before = only()
  before.speed('m').answered(7)
  feed.configure([entry('a', { weight: 0, slots: 3 }), entry('b')])
  t.equal(only(), before)
  t.match([before.weight, before.slots], [0, 3])
  feed.configure([entry('a', { apiKey: 'new' })])
  t.not(only(), before, 'another key may mean another server')
  t.equal(servers.size, 1)
})

t.test('the settings win over sources, and sources over later ones, by name and by address', async t => {
  const { feed, names, warnings, servers } = pool()
  let mesh = [entry('a', { url: 'http://elsewhere' }), entry('twin', { url: 'http://b' }), entry('c')]
  feed.configure([entry('a'), entry('b')])
  feed.follow([
    { source: 'mesh', list: () => mesh },
    { source: 'other', list: () => [entry('c', { url: 'http://d' })] }
  ])
  t.same(names(), ['a', 'b', 'c'])
  t.equal([...servers][0]?.url, 'http://a')
  t.equal(warnings.length, 3)
  feed.refresh()
  t.equal(warnings.length, 3, 'a problem is reported once')
  mesh = []
  feed.refresh()
  t.same(names(), ['a', 'b', 'c'])
  t.equal([...servers][2]?.url, 'http://d')
})

t.test('a source that throws, or lists an invalid server, does not affect the others', async t => {
  const { feed, names, warnings } = pool()
  feed.follow([
    {
      source: 'broken',
      list: () => {
        throw new Error('no list')
      }
    },
    { source: 'mesh', list: () => [entry('x', { url: 'http://me:hunter2@x' }), entry('ä'), entry('good')] }
  ])
  t.same(names(), ['good'])
  t.match(warnings, ['no list', /user name or password/, /printable ASCII/])
  t.notMatch(JSON.stringify(warnings), /hunter2/)
})

t.test('the settings give a server its address as name, and no /v1', async t => {
  t.match(configuredServers([{ url: 'https://gpu:8443/models/v1/', api: 'vllm', weight: 1, api_key: 'k' }]), [
    { name: 'gpu:8443', url: 'https://gpu:8443/models', apiKey: 'k' }
  ])
})
