// Publishes an approved item in its own process, which the test kills.
import { httpBoardChannel } from './http-board.ts'
import { openNews } from './kit.ts'

const [, , database = '', board = '', id = ''] = process.argv
const news = await openNews({ teardown() {} } as never, { database, channels: [httpBoardChannel(board)] })
await news.approved({ id, more: 'syndication:\n  rss: false\n  board: true' })
const { channels } = await news.publish(id, { channels: ['board'] })
process.send?.(channels)
await news.kernel.close()
process.disconnect?.()
