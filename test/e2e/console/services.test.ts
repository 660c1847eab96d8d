import t from 'tap'
import { serve } from '../served-project.ts'
import { accessibilityProblems, callFrom, drawn, launch, noBrowser, openConsole, settled } from './browser.ts'
import { SKILL, servicesProject } from './services-project.ts'

const VALUE = 'sk-acme-0123456789abcdef'

t.test('pages of secrets, providers, telemetry, updates, skills and findings', { skip: noBrowser }, async t => {
  const { folder, env } = await servicesProject(t)
  const server = await serve(t, folder, [], undefined, env)
  const browser = await launch(t)
  const { page, open, problems } = await openConsole(browser, server)
  const call = async (operation: string, input: object): Promise<any> => {
    const { status, body } = await callFrom(page, operation, input)
    if (status !== 200) throw new Error(`${operation}: ${JSON.stringify(body)}`)
    return body
  }
  const skill = await call('skills.import', { slug: SKILL, install: true })
  t.equal(skill.approval, 'pending')
  await call('stub-check.scan', { path: 'src' })
  const paths = [
    '/',
    '/ui/inbox',
    ...[0, 1, 2, 3, 4].map(tab => `/ui/p/secrets/declared?tab=${tab}`),
    ...[0, 1, 2, 3].map(tab => `/ui/p/providers/usage?tab=${tab}`),
    ...[0, 1, 2].map(tab => `/ui/p/telemetry/telemetry?tab=${tab}`),
    '/ui/p/updates/updates',
    ...[0, 1, 2, 3, 4].map(tab => `/ui/p/openclaw/gateway?tab=${tab}`),
    `/ui/p/openclaw/skills/${encodeURIComponent(SKILL)}`,
    ...[1, 2].map(tab => `/ui/p/model-server/models?tab=${tab}`),
    '/ui/p/stub-check/findings',
    '/ui/p/stub-check/findings/0'
  ]

  await t.test('show hostile texts and more than 1,000 rows without an error, at both widths', async t => {
    for (const [at, path] of paths.entries()) {
      problems.length = 0
      await page.setViewportSize({ width: 1440, height: 900 })
      await open(path)
      t.equal(await page.locator('[role=alert]').count(), 0, `${path}: no notice of an error`)
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 844 })
        await page.emulateMedia({ colorScheme: (at + width) % 2 === 0 ? 'light' : 'dark', reducedMotion: 'reduce' })
        await drawn(page)
        // Each page in one of the widths, alternating.
        if (at % 2 === (width === 390 ? 0 : 1))
          t.same(await accessibilityProblems(page), [], `${path} ${width}: no accessibility problems`)
        const [scroll, client] = (await page.evaluate(
          '[document.querySelector("main.content").scrollWidth, document.querySelector("main.content").clientWidth]'
        )) as [number, number]
        t.equal(scroll, client, `${path} ${width}: fits`)
      }
      t.same(problems, [], `${path}: no errors`)
      t.equal(await page.evaluate('window.hacked'), undefined, `${path}: texts stay text`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await open('/ui/p/providers/usage')
    await page.getByText('1,200 rows').waitFor()
    t.pass('all rows of usage are listed')
  })

  await t.test('findings are filtered and opened with the keyboard', async t => {
    await open('/ui/p/stub-check/findings')
    await page.getByText('1,000 rows').waitFor()
    await page.getByLabel('File').focus()
    await page.keyboard.type('f3.gd:42')
    await page.getByText('1 of 1,000 rows').waitFor()
    await page.locator('[data-rows]').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/stub-check/findings/*')
    await page.getByRole('heading', { level: 1, name: 'src/f3.gd:42' }).waitFor()
    t.pass('the finding shows its place')
  })

  await t.test('texts are compared with the embedding model and the reranker, whose state is shown', async t => {
    await open('/ui/p/model-server/models?tab=2')
    await page.getByRole('textbox', { name: 'Query' }).fill('the capital of france')
    await page.getByRole('textbox', { name: 'Texts' }).fill('a quick fox\nparis is the capital')
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('relevance').first().waitFor()
    await open('/ui/p/model-server/models?tab=1')
    await page.getByRole('row', { name: /bert embedding ready/i }).waitFor()
    await page.getByRole('row', { name: /bert-reranker reranker ready/i }).waitFor()
    t.pass('both models are loaded')
  })

  await t.test('a search is sent when it is complete, not with each letter', async t => {
    await call('memory.store', { key: 'zebra', body: 'The zebra has stripes.' })
    await open('/ui/p/search/results')
    const asked: string[] = []
    page.on('request', request => {
      const query = /"query":"([^"]*)"/.exec(request.postData() ?? '')?.[1]
      if (query !== undefined) asked.push(query)
    })
    await page.getByLabel('Where').selectOption('memory')
    await page.getByRole('searchbox', { name: 'Search', exact: true }).focus()
    await page.keyboard.type('zebra stripes')
    await page.keyboard.press('Enter')
    await page.getByText('The zebra has stripes.').first().waitFor()
    t.same([...new Set(asked)], ['zebra stripes'])
    await page.keyboard.type(' today')
    await page.keyboard.press('Enter')
    await page.waitForURL(/query=zebra\+stripes\+today/)
    t.pass('the field keeps the focus')
  })

  await t.test('items of the inbox vanish when they are answered', async t => {
    await open('/ui/inbox')
    const item = (title: string) => page.getByRole('article', { name: title })
    const answer = async (title: string, label: string): Promise<void> => {
      await item(title).getByRole('button', { name: label }).click()
    }
    await answer('The secret acme.key is missing', 'Store it')
    const dialog = page.getByRole('dialog')
    const field = dialog.getByLabel('Value')
    t.equal(await field.getAttribute('type'), 'password')
    await field.fill(VALUE)
    await dialog.getByRole('button', { name: 'Store it' }).click()
    await item('The secret acme.key is missing').waitFor({ state: 'detached' })
    t.equal(await item('The secret acme.empty is empty').getByRole('button').count(), 0, 'its variable must be changed')
    await answer('The daily limit of groq is used up', 'Hide until tomorrow')
    await item('The daily limit of groq is used up').waitFor({ state: 'detached' })
    await answer('A new version could not be installed', 'Dismiss')
    await item('A new version could not be installed').waitFor({ state: 'detached' })
    await answer('svc 99.0.0 is available', 'Ignore this version')
    await item('svc 99.0.0 is available').waitFor({ state: 'detached' })
    await page.getByRole('article').filter({ hasText: SKILL }).getByRole('button', { name: 'Deny' }).click()
    await page.getByRole('article').filter({ hasText: SKILL }).waitFor({ state: 'detached' })
    t.equal(await page.getByRole('article').count(), 1, 'only the empty secret is left')
    for (const path of ['/ui/inbox', '/ui/p/secrets/declared?secret=acme', '/']) {
      await open(path)
      await settled(page)
      t.notMatch(await page.content(), VALUE, `${path} does not show the secret`)
    }
    t.notMatch(server.lines.join('\n'), VALUE)
    t.notMatch(JSON.stringify(await call('secrets.doctor', {})), VALUE)
  })

  await t.test('a viewer sees no secrets and no answers', async t => {
    const viewer = await openConsole(browser, server, { role: 'viewer' })
    await viewer.open('/')
    t.equal(await viewer.page.getByRole('region', { name: 'Updates' }).count(), 1)
    t.equal(await viewer.page.getByRole('region', { name: 'Secrets' }).count(), 0)
    t.equal(await viewer.page.getByRole('link', { name: 'Declared secrets' }).count(), 0)
    t.equal(await viewer.page.locator('[role=alert]').count(), 0)
    await viewer.open('/ui/p/openclaw/gateway')
    t.equal(await viewer.page.getByRole('button', { name: /Approve|Remove/ }).count(), 0)
    await viewer.open('/ui/inbox')
    t.equal(await viewer.page.getByRole('article').count(), 0, 'only the secret waits, which a viewer may not see')
    await viewer.context.close()
  })
})
