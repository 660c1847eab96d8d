import { once } from 'node:events'
import { assertNoLeaks } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { startDaemon } from './start-daemon.ts'

t.test('no resources leak', async t => {
  await assertNoLeaks(async () => {
    const { connect, reload, kernel } = await startDaemon(t)
    const peer = await connect()
    for (const id of [1, 2, 3]) {
      t.match(await peer.ask({ jsonrpc: '2.0', id, method: 'orch.ping' }), { id })
      await reload()
    }
    await kernel.close()
    await peer.closed()
    peer.close()
    if (!peer.socket.closed) await once(peer.socket, 'close')
  })
})
