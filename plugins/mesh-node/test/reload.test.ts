import { type RemoteProcessor, remoteProcessor } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { assertNoLeaks } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'
import { DELEGATES, eventually, openControl, openHost, WORKS } from './bed.ts'

/** A plugin whose work ends when the test says so, and that counts its starts. */
function heldWork() {
  const finish: (() => void)[] = []
  const run: RemoteProcessor['run'] = (_job, signal) =>
    new Promise((resolve, reject) => {
      finish.push(() => resolve({ result: 'done' }))
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  const provider = definePlugin({
    name: 'held-work',
    provides: [remoteProcessor],
    activate: ctx => void ctx.provide(remoteProcessor, { name: 'held', run })
  })
  return { finish, provider }
}

t.test('after a reload, the node keeps its id and continues with claimed work', async t => {
  const control = await openControl(t, { settings: { a2a_lease_ms: 600_000 } })
  const { finish, provider } = heldWork()
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const host = await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS, more: [provider] })
  const task = await submitter.submit()
  await eventually(() => (finish.length === 1 ? true : null))
  await host.kernel.replace(plugin)
  t.ok(host.node.running)
  t.equal(host.node.id, 'two')
  await eventually(() => (finish.length === 2 ? true : null))
  finish[1]?.()
  t.equal((await submitter.until(task, 'Completed', 'Failed')).status.kind, 'Completed')
  const nodes = (await control.store.nodes.list('default')).nodes.map(({ id }) => id)
  t.same(nodes.sort(), ['one', 'orch-one', 'two'])
})

t.test('a node that stops returns its work, so that another one continues at once', async t => {
  const control = await openControl(t, { settings: { a2a_lease_ms: 600_000 } })
  const { finish, provider } = heldWork()
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const host = await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS, more: [provider] })
  const task = await submitter.submit()
  await eventually(() => (finish.length === 1 ? true : null))
  await host.close()
  const other = heldWork()
  await openHost(t, { name: 'three', url: control.url, orchestrator: WORKS, more: [other.provider] })
  await eventually(() => (other.finish.length === 1 ? true : null))
  other.finish[0]?.()
  t.equal((await submitter.until(task, 'Completed', 'Failed')).status.kind, 'Completed')
})

t.test('a submitter that is reloaded still receives results', async t => {
  const control = await openControl(t)
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const task = await submitter.submit()
  await eventually(() => (submitter.tasks.task(task)?.remote?.confirmed === true ? true : null))
  await submitter.kernel.replace(plugin)
  const { finish, provider } = heldWork()
  await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS, more: [provider] })
  await eventually(() => (finish.length === 1 ? true : null))
  finish[0]?.()
  t.equal((await submitter.until(task, 'Completed', 'Failed')).status.kind, 'Completed')
})

t.test('a closed node leaves no timer or listener, and its idle connections end with the control plane', async t => {
  await assertNoLeaks(async () => {
    const control = await openControl(t)
    const { provider } = heldWork()
    const host = await openHost(t, {
      name: 'one',
      url: control.url,
      orchestrator: { ...DELEGATES, ...WORKS },
      more: [provider]
    })
    await eventually(async () => ((await control.store.nodes.find('default', 'one')) === null ? null : true))
    await host.submit()
    await host.close()
    await control.close()
  })
})
