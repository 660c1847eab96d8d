import { existsSync, readFileSync } from 'node:fs'
import { type BrowserAutomation, browserErrors } from '@svc/contracts'
import t from 'tap'
import { CAPABILITIES } from '#interpreter'
import { type OpenServices, openServices } from '#threads'
import type { ThreadResult } from '#worker'
import { type BodyOptions, runBody } from './run-body.ts'

/** Browser stub that records its calls, and whose page has one heading. */
class FakeBrowser implements BrowserAutomation {
  readonly recordedCalls: string[] = []
  readonly open_ = new Set<string>()
  #count = 0

  async open(url: string, { headless = true, signal }: { headless?: boolean; signal?: AbortSignal } = {}) {
    this.recordedCalls.push(`open ${url} ${headless}`)
    if (url.endsWith('/never'))
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    if (url.startsWith('file:')) throw browserErrors.create('BRW_ADDRESS', 'no files', { hint: 'open another one' })
    const page = `page-${++this.#count}`
    this.open_.add(page)
    return page
  }
  async goto(page: string, url: string) {
    this.recordedCalls.push(`goto ${page} ${url}`)
  }
  async click(page: string, target: string) {
    if (target === '#none') throw browserErrors.create('BRW_TIMEOUT', '#none is not there')
    this.recordedCalls.push(`click ${page} ${target}`)
  }
  async fill(page: string, target: string, text: string) {
    this.recordedCalls.push(`fill ${page} ${target} ${text}`)
  }
  async waitFor(page: string, target: string, milliseconds: number) {
    this.recordedCalls.push(`wait ${page} ${target} ${milliseconds}`)
  }
  async text(_page: string, target = 'all of it') {
    return { content: `text of ${target}`, length: 1_000_000 }
  }
  async html(_page: string, target = 'all of it') {
    return { content: `<p>${target}</p>`, length: 7 }
  }
  async screenshot() {
    return Uint8Array.of(1, 2, 255)
  }
  async close(page: string) {
    this.recordedCalls.push(`close ${page}`)
    this.open_.delete(page)
  }
}

interface Executed {
  readonly ending: ThreadResult
  readonly lines: readonly string[]
}

async function execute(body: string, services: OpenServices, options: Partial<BodyOptions> = {}): Promise<Executed> {
  const ran = await runBody(body, { capabilities: CAPABILITIES, ...options, services: services.answers })
  await services.close()
  return { ending: ran.ending, lines: [...ran.lines, ...ran.failures.map(String)] }
}

const absent = async (): Promise<never> => {
  throw new Error('this function is not used by these tests')
}
const servicesOf = (browser: BrowserAutomation): OpenServices =>
  openServices({ browser: async () => browser, speech: absent, skills: absent, mutationKind: () => 'unknown' })

t.test('a program opens pages, and uses them', async t => {
  const browser = new FakeBrowser()
  const picture = `${t.testdir({})}/picture.png`
  const { ending, lines } = await execute(
    `
    let page = Browser.open("http://a/", false).unwrap()
    print(Browser.goto(page, "http://b/").is_ok())
    print(Browser.fill(page, "#name", "Ada").is_ok())
    print(Browser.click(page, "text=Go").is_ok())
    print(Browser.wait_for(page, "#answer", 500).is_ok())
    print(Browser.text(page, "#answer").unwrap())
    print(Browser.text(page).unwrap())
    print(Browser.html(page, "h1").unwrap())
    print(Browser.html(page).unwrap())
    print(Browser.screenshot(page, "${picture}").unwrap())
    print(Browser.screenshot(page, "/no/such/folder/picture.png").is_err())
    print(Browser.close(page).is_ok())
    print(Browser.open("http://a/").unwrap())`,
    servicesOf(browser)
  )
  t.same(ending, { ok: true, outcome: { refused: null, exit: null } })
  t.same(lines, [
    ...['true', 'true', 'true', 'true', 'text of #answer', 'text of all of it', '<p>h1</p>', '<p>all of it</p>'],
    ...[picture, 'true', 'true', 'page-2']
  ])
  t.same([...readFileSync(picture)], [1, 2, 255])
  t.same(browser.recordedCalls, [
    'open http://a/ false',
    'goto page-1 http://b/',
    'fill page-1 #name Ada',
    'click page-1 text=Go',
    'wait page-1 #answer 500',
    'close page-1',
    'open http://a/ true',
    'close page-2'
  ])
})

t.test('a browser failure is an Error with a hint', async t => {
  const { lines } = await execute(
    `
    print(Browser.open("file:///etc/passwd"))
    let page = Browser.open("http://a/").unwrap()
    print(Browser.click(page, "#none"))
    print(Browser.text("page-of-another"))`,
    servicesOf(new FakeBrowser())
  )
  t.same(lines, [
    'Error(no files: open another one)',
    'Error(#none is not there)',
    'Error(the program has no page "page-of-another")'
  ])
})

t.test('open pages of a program are closed at its end', async t => {
  const browser = new FakeBrowser()
  const services = servicesOf(browser)
  const { ending } = await execute('    Browser.open("http://a/")\n    panic("enough")', services)
  t.match(ending, { ok: false, failure: { code: 'RUN_PANIC' } })
  t.same([...browser.open_], [])
  const late = await execute('    Browser.open("http://a/never")', servicesOf(browser), { milliseconds: 500 })
  t.match(late.ending, { ok: false, failure: { code: 'RUN_TIME_LIMIT' } })
  t.same(late.lines, [], 'the host reports no failure')
  t.same([...browser.open_], [])
})

t.test('a program needs the capability browser, and for screenshots also fs', async t => {
  const browser = new FakeBrowser()
  const none = await execute('    Browser.open("http://a/")', servicesOf(browser), { capabilities: ['net', 'fs'] })
  t.match(none.ending, { ok: false, failure: { code: 'RUN_CAPABILITY_DENIED', message: /capability browser/ } })
  const picture = `${t.testdir({})}/picture.png`
  const body = `    Browser.screenshot(Browser.open("http://a/").unwrap(), "${picture}")`
  const noFiles = await execute(body, servicesOf(browser), { capabilities: ['browser'] })
  t.match(noFiles.ending, { ok: false, failure: { code: 'RUN_CAPABILITY_DENIED', message: /capability fs/ } })
  t.notOk(existsSync(picture))
})

t.test('arguments of other types are errors', async t => {
  const services = servicesOf(new FakeBrowser())
  for (const call of ['open("http://a/", one)', 'open(one)', 'wait_for("p", "#a", text)', 'fill("p", "#a", one)']) {
    // Types are unknown to the checker.
    const body = `    let one: any = 1\n    let text: any = "1s"\n    Browser.${call}`
    const { ending } = await execute(body, services)
    t.match(ending, { ok: false, failure: { code: 'RUN_TYPE' } }, call)
  }
})
