import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'tap'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { HttpBoard, httpBoardChannel } from './http-board.ts'
import { openNews } from './kit.ts'

test('a process that is killed before or after the answer of a service does not cause a second one', async t => {
  const board = new HttpBoard()
  const url = await board.open()
  t.teardown(() => board.close())
  const database = join(t.testdir(), 'news.db')
  const steps = ['added', 'answered'] as const
  for (const step of steps) {
    const child = fork(join(import.meta.dirname, 'sending-child.ts'), [database, url, `item-${step}`], {
      execArgv: [...CHILD_ARGUMENTS],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
    let killed = 0
    board.at = now => {
      if (now === step && killed++ === 0) child.kill('SIGKILL')
    }
    const [, signal] = await once(child, 'exit')
    // After the answer, the child may have recorded it before the signal.
    if (step !== 'answered') t.equal(signal, 'SIGKILL', step)
    t.equal(killed, 1, step)
  }
  board.at = () => {}
  const news = await openNews(t, { database, channels: [httpBoardChannel(url)] })
  for (const step of steps) {
    const id = `item-${step}`
    await news.approved({ id, more: 'syndication:\n  rss: false\n  board: true' })
    t.match((await news.publish(id, { channels: ['board'] })).channels, [{ outcome: 'Success' }], step)
  }
  t.equal(board.posts.length, steps.length)
  t.equal(new Set(board.posts).size, steps.length)
  const rows = await news.rows("SELECT state, fence FROM published_news WHERE channel = 'board'")
  t.ok(rows.every(({ state }) => state === 'sent'))
})
