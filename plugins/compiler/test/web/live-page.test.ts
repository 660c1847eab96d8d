import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { launched, noBrowser, opened } from './browsing.ts'
import { ROOT } from './building.ts'
import { serve, unbuilt } from './serving.ts'

t.test(
  'a page follows the changes of other clients, over one websocket',
  { skip: noBrowser() || unbuilt(), timeout: 240_000 },
  async t => {
    const folder = t.testdir({ 'svc.toml': '' })
    copyFileSync(join(ROOT, 'examples/language/live_board.vox'), join(folder, 'app.vox'))
    const url = await serve(t, folder, '/api/query/latest')
    const write = async (text: string): Promise<void> => {
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ author: 'Ada', text })
      const response = await fetch(`${url}/api/mutation/write`, { method: 'POST', headers, body })
      t.equal(response.status, 200)
    }
    await write('first')
    const browser = await launched(t)
    const { page, problems } = await opened(t, browser, 'live-page')
    const sockets: string[] = []
    page.on('websocket', socket => sockets.push(new URL(socket.url()).pathname))
    await page.goto(url)
    await page.waitForSelector('li >> text=Ada: first')
    await page.waitForSelector('text=Ada wrote 1 messages')

    await write('from elsewhere')
    await page.waitForSelector('li >> text=Ada: from elsewhere')
    await page.waitForSelector('text=Ada wrote 2 messages')
    t.equal(sockets.filter(path => path === '/api/live').length, 1, 'the loader and the call share one websocket')

    await page.fill('[aria-label="Message"]', 'from the page')
    await page.click('text=Write')
    await page.waitForSelector('li >> text=Ada: from the page')
    await page.waitForSelector('text=Ada wrote 3 messages')

    t.same(problems, [])
  }
)
