import t from 'tap'
import { missing, openPages, openWorld, serve, servePages } from './world.ts'

const FORM = `<!doctype html><title>Form</title>
<h1>What is your name?</h1>
<input aria-label="Name" />
<button onclick="setTimeout(() => { document.querySelector('#answer').textContent = 'Hello, ' + document.querySelector('input').value; document.querySelector('#answer').hidden = false })">Go</button>
<p id="answer" hidden></p>
<p style="display: none">unseen</p>
<svg xmlns="http://www.w3.org/2000/svg"><text>drawn</text></svg>`

t.test('pages', { skip: missing }, async t => {
  const { browser } = await openWorld(t)

  t.test('a page can be filled, clicked, awaited, read and captured', async t => {
    const url = await servePages(t, { '/': FORM, '/other': '<h1>Another</h1>' })
    const page = await browser.open(url)
    await browser.fill(page, '[aria-label=Name]', 'Ada "1" & <b>')
    await browser.click(page, 'text=Go')
    await browser.waitFor(page, '#answer', 30_000)
    t.same(await browser.text(page, '#answer'), { content: 'Hello, Ada "1" & <b>', length: 20 })
    t.same(await browser.html(page, 'h1'), { content: '<h1>What is your name?</h1>', length: 27 })
    t.equal((await browser.text(page, 'svg')).content, 'drawn', 'the text of an SVG element is read')
    const { content } = await browser.text(page)
    t.match(content, /^What is your name\?.*Hello, Ada/s)
    t.notMatch(content, 'unseen')
    t.match((await browser.html(page)).content, /^<html>.*unseen.*<\/html>$/s)
    const picture = Buffer.from(await browser.screenshot(page))
    t.equal(picture.subarray(1, 4).toString(), 'PNG')
    await browser.goto(page, `${url}other`)
    t.equal((await browser.text(page)).content, 'Another')
    await browser.close(page)
    await t.rejects(browser.text(page), { code: 'BRW_PAGE_UNKNOWN' })
    await t.rejects(browser.close(page), { code: 'BRW_PAGE_UNKNOWN' })
  })

  t.test('pages are isolated from each other', async t => {
    const url = await serve(t, (request, response) => {
      response.setHeader('set-cookie', 'seen=yes')
      response.setHeader('content-type', 'text/html')
      response.end(`<p>${request.headers.cookie ?? 'new'}</p>`)
    })
    const [first, second] = await Promise.all([browser.open(url), browser.open(url)])
    t.equal((await browser.text(first)).content, 'new')
    t.equal((await browser.text(second)).content, 'new')
    await browser.goto(second, url)
    t.equal((await browser.text(second)).content, 'seen=yes', 'each page keeps its own state')
    await Promise.all([browser.close(first), browser.close(second)])
  })

  t.test('windows and dialogs that a page opens are closed', async t => {
    const url = await servePages(t, {
      '/': "<button onclick=\"alert(1); window.open('/'); this.textContent = 'done'\">Go</button>"
    })
    const page = await browser.open(url)
    await browser.click(page, 'button')
    await browser.waitFor(page, 'text=done', 30_000)
    await browser.close(page)
  })

  t.test('a wait has no fixed time limit', async t => {
    const late = "<script>setTimeout(() => { document.body.innerHTML = '<p>late</p>' }, 100)</script>"
    const page = await browser.open(await servePages(t, { '/': `<body>${late}` }))
    await browser.waitFor(page, 'p', 2 ** 40)
    await browser.close(page)
  })

  t.test('a failure names the call and its target', async t => {
    const { pages, settings } = openPages(t)
    const url = await serve(t, (request, response) => {
      if (request.url === '/') response.setHeader('content-type', 'text/html').end('<h1>Here</h1>')
    })
    const page = await pages.open(url)
    await t.rejects(pages.text(page, '[['), { code: 'BRW_TARGET', message: '[[: ' })
    await t.rejects(pages.fill(page, 'h1', 'x'), { code: 'BRW_TARGET', message: 'h1: ' })
    const refused = await pages.open('http://127.0.0.1:1/?token=hidden').catch((error: Error) => error)
    t.match(refused, { code: 'BRW_NAVIGATION', message: /^http:\/\/127\.0\.0\.1:1\/: net::ERR_/ })
    t.notMatch((refused as Error).message, 'hidden')
    settings.timeout_ms = 300
    await t.rejects(pages.click(page, '#nowhere'), { code: 'BRW_TIMEOUT', message: '#nowhere was not found' })
    await t.rejects(pages.waitFor(page, '#nowhere', 0), { code: 'BRW_TIMEOUT' })
    const late = pages.goto(page, `${url}never?token=hidden`)
    await t.rejects(late, { code: 'BRW_TIMEOUT', message: /^http:\/\/127\.0\.0\.1:\d+\/never did not finish/ })
    t.equal(pages.size, 1, 'a failed call leaves no page')
  })

  t.test('long content is cut off, and its length is reported', async t => {
    const { browser, kernel } = await openWorld(t, { context_chars: 10 })
    const page = await browser.open(await servePages(t, { '/': `<p>${'x'.repeat(30_000)}</p>` }))
    t.same(await browser.text(page), { content: 'x'.repeat(10), length: 30_000 })
    t.same(await browser.html(page, 'p'), { content: '<p>xxxxxxx', length: 30_007 })
    await kernel.close()
  })

  t.test('the number of open pages is limited', async t => {
    const { browser } = await openWorld(t, { max_pages: 2 })
    const results = await Promise.allSettled([1, 2, 3].map(() => browser.open('about:blank')))
    t.match(
      results.map(each => (each.status === 'fulfilled' ? 'open' : each.reason.code)),
      ['open', 'open', 'BRW_PAGE_LIMIT']
    )
    const [first] = results
    if (first?.status === 'fulfilled') await browser.close(first.value)
    t.ok(await browser.open('about:blank'))
  })

  t.test('a page is not opened if the caller aborts', async t => {
    const { browser } = await openWorld(t, { max_pages: 1, timeout_ms: 600_000 })
    const abort = new AbortController()
    const reason = new Error('enough')
    const url = await serve(t, () => abort.abort(reason))
    t.equal(await browser.open(url, { signal: abort.signal }).catch((error: unknown) => error), reason)
    const page = await browser.open('about:blank')
    const use = browser.waitFor(page, '#never', 600_000, { signal: AbortSignal.abort(reason) })
    t.equal(await use.catch((error: unknown) => error), reason)
    t.same(await browser.text(page), { content: '', length: 0 }, 'the page is still open')
  })
})

t.test('forbidden addresses are rejected', async t => {
  const { browser } = await openWorld(t, { executable: '/no/such/browser' })
  const refused = [
    'file:///etc/passwd',
    'javascript:1',
    'data:text/html,x',
    'chrome://version',
    'view-source:http://a/',
    'a b'
  ]
  for (const url of refused) await t.rejects(browser.open(url), { code: 'BRW_ADDRESS' }, url)
  await t.rejects(browser.open('file:///etc/passwd'), { code: 'BRW_ADDRESS', hint: /file_urls/ })
  await t.rejects(browser.open('http://127.0.0.1/'), { code: 'BRW_NOT_INSTALLED' })
})

t.test('files are opened if the setting allows it', { skip: missing }, async t => {
  const folder = t.testdir({ 'page.html': '<h1>A file</h1>' })
  const { browser } = await openWorld(t, { file_urls: true })
  const page = await browser.open(`file://${folder}/page.html`)
  t.equal((await browser.text(page)).content, 'A file')
})
