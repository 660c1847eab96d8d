import fc from 'fast-check'
import t from 'tap'
import { chooseNode } from '#root'

const NOW = 1_800_000_000_000
const OPTIONS = { labels: ['gpu'], shared: '2', own: 'own', now: NOW, staleMs: 60_000, random: 0 }

const node = (id: string, labels: readonly string[], more: object = {}) => ({
  id,
  version: '1',
  capabilities: { labels },
  inbox_agent_id: `9${id.length}`,
  last_seen_unix_ms: NOW,
  ...more
})

t.test('a node that cannot take work now is not chosen, and the error says why', async t => {
  const unfit = [
    node('q', ['gpu'], { quarantined: true }),
    node('m', ['gpu'], { maintenance: true }),
    node('s', ['gpu'], { last_seen_unix_ms: NOW - 60_001 }),
    node('i', ['gpu'], { inbox_agent_id: undefined }),
    node('l', []),
    node('orch-x', ['gpu'], { workload_classes: ['orchestrator'] }),
    null,
    'text',
    { id: '' }
  ]
  t.throws(() => chooseNode(unfit, OPTIONS), {
    code: 'MND_NO_NODE',
    message:
      'no node that runs work has all of the labels gpu: q has gpu and is quarantined; m has gpu and is in maintenance; ' +
      's has gpu and sends no heartbeats; i has gpu and runs no work; l has no labels',
    data: { labels: ['gpu'] }
  })
  t.same(chooseNode([...unfit, node('fit', ['a', 'gpu'])], OPTIONS), { receiver: '93', node: 'fit' })
})

t.test('without labels, the shared inbox is chosen if another node may read it', async t => {
  const options = { ...OPTIONS, labels: [] }
  const idle = { inbox_agent_id: undefined }
  t.throws(() => chooseNode([], options), { code: 'MND_NO_NODE', message: /the mesh has no nodes/ })
  t.throws(() => chooseNode([node('own', [], idle)], options), { code: 'MND_NO_NODE', message: /own .*runs no work/ })
  t.same(chooseNode([node('own', [])], options), { receiver: '2', node: null })
  t.same(chooseNode([node('other', [], idle)], options), { receiver: '2', node: null }, 'of another implementation')
})

t.test('a long list of nodes is cut in the error', async t => {
  const nodes = Array.from({ length: 20 }, (_, at) => node(`n${at}`, []))
  t.throws(() => chooseNode(nodes, OPTIONS), { message: /n7 has no labels; 12 more$/ })
})

t.test('the chosen node always has all labels, and each fitting node can be chosen', async t => {
  const label = fc.constantFrom('a', 'b', 'c')
  const nodes = fc.array(fc.uniqueArray(label), { maxLength: 6 })
  fc.assert(
    fc.property(nodes, fc.uniqueArray(label, { minLength: 1 }), (all, labels) => {
      const records = all.map((each, at) => node(`n${at}`, each))
      const fit = records.filter(({ capabilities }) => labels.every(each => capabilities.labels.includes(each)))
      const chosen = fit.map((_, at) => {
        return chooseNode(records, { ...OPTIONS, labels, random: at / fit.length }).node
      })
      t.same(
        chosen,
        fit.map(({ id }) => id)
      )
      if (fit.length === 0) t.throws(() => chooseNode(records, { ...OPTIONS, labels }), { code: 'MND_NO_NODE' })
    })
  )
})
