/** Opens the built site in Chromium, once from a server and once from files. Skipped where Chromium is not installed. */
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.png': 'image/png'
}

/** Returns a line for each problem: an error of a page, a request to another host, a search without a result. */
export async function checkInBrowser(folder: string, base: string): Promise<string[]> {
  if (!existsSync(EXECUTABLE)) {
    process.stderr.write(`${EXECUTABLE} is not installed: the pages were not opened in a browser\n`)
    return []
  }
  const server = serveFolder(folder, base)
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return [...(await checkServed(browser, origin, base)), ...(await checkFiles(browser, folder))]
  } finally {
    await browser.close()
    server.close()
  }
}

async function checkServed(browser: Browser, origin: string, base: string): Promise<string[]> {
  const problems: string[] = []
  const page = await browser.newPage()
  page.on('request', request => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
      problems.push(`${page.url()}: requests ${request.url()}`)
  })
  page.on('pageerror', error => problems.push(`${page.url()}: ${error.message}`))
  page.on('console', message => {
    if (message.type() === 'error') problems.push(`${page.url()}: ${message.text()}`)
  })
  for (const path of ['', 'architecture.html', 'console.html', 'performance.html', 'plugins/http.html'])
    await page.goto(`${origin}${base}${path}`, { waitUntil: 'networkidle' })
  await page.keyboard.press('Control+k')
  await page.locator('.search-input').fill('backup')
  const result = page.locator('.results .result').first()
  await result.waitFor().catch(() => problems.push('search: no result for "backup"'))
  await page.close()
  return problems
}

/** Modules do not run from files. The pages must be readable without them: styled, with images and links that work. */
async function checkFiles(browser: Browser, folder: string): Promise<string[]> {
  const problems: string[] = []
  const page = await browser.newPage()
  await page.goto(pathToFileURL(join(folder, 'architecture.html')).href)
  const styled = await page.evaluate(`getComputedStyle(document.querySelector('.VPSidebar')).position`)
  if (styled !== 'fixed') problems.push('from files: the pages have no styles')
  const broken: string[] = await page.evaluate(`Promise.all([...document.querySelectorAll('.vp-doc img')].map(
    image => image.decode().then(() => '', () => image.src)
  ))`)
  problems.push(...broken.filter(src => src !== '').map(src => `from files: ${src} is not shown`))
  await page.locator('.VPSidebar a', { hasText: 'The console' }).first().click()
  if (!page.url().endsWith('/console.html')) problems.push(`from files: a link of the sidebar leads to ${page.url()}`)
  await page.close()
  return problems
}

function serveFolder(folder: string, base: string): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = normalize(decodeURIComponent(pathname.slice(base.length)))
    const file = join(folder, pathname.endsWith('/') ? join(path, 'index.html') : path)
    if (
      !pathname.startsWith(base) ||
      !file.startsWith(folder) ||
      !statSync(file, { throwIfNoEntry: false })?.isFile()
    ) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
}
