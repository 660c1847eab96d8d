import t from 'tap'
import { MeshClient, ViewSource } from '#root'
import { eventually } from './bed.ts'
import { json, openServer } from './http-server.ts'

const view = {
  node_id: 'one',
  repository_id: 'r',
  store_id: 'other',
  mailbox: '81',
  host: 'one',
  pid: 7,
  agents: 1,
  open: { Queued: 0, InProgress: 0, Blocked: 0, BlockedOnApproval: 0, Doubted: 0 },
  ended: { completed: 1, failed: 0, cancelled: 0 },
  tasks: [],
  version: 3
}
const none = new AbortController().signal

const sourceOf = (url: string) =>
  new ViewSource({
    client: new MeshClient({
      settings: { controlUrls: [url], token: () => null },
      controlUrl: () => null,
      timeoutMs: () => 10_000
    }),
    repositoryId: 'r',
    storeId: async () => 'own',
    verbs: null as never
  })

t.test('a view that cannot be read hides no other view', async t => {
  const views = [null, 7, 'x', [], {}, { ...view, tasks: 1 }, { ...view, store_id: 'own' }, view]
  const { url } = await openServer(t, (_, response) => json(response, 200, { views }))
  t.match(await sourceOf(url).processes(none), [{ pid: 7, ended: { completed: 1 } }])
})

t.test('an answer without views shows none', async t => {
  const empty = await openServer(t, (_, response) => response.writeHead(204).end())
  t.same(await sourceOf(empty.url).processes(none), [])
  const other = await openServer(t, (_, response) => json(response, 200, { views: null }))
  t.same(await sourceOf(other.url).processes(none), [])
})

t.test('a caller that stops waiting does not end the reading of the others', async t => {
  const answers: (() => void)[] = []
  const { url } = await openServer(t, (_, response) => {
    answers.push(() => json(response, 200, { views: [view] }))
  })
  const source = sourceOf(url)
  const controller = new AbortController()
  const first = source.processes(controller.signal)
  const second = source.processes(none)
  await eventually(() => (answers.length > 0 ? true : null))
  controller.abort(new Error('enough'))
  await t.rejects(first, /enough/)
  for (const answer of answers) answer()
  t.match(await second, [{ pid: 7 }])
  t.equal(answers.length, 1)
})
