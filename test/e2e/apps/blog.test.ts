import type { Page } from 'playwright-core'
import t from 'tap'
import { call, checkFiles, checkProgram, runApp, signUp, skip, sqlite, submit } from './running-app.ts'

t.setTimeout(300_000)

t.test('the blog is checked, tested, formatted and built', async t => {
  await checkProgram(t, 'blog')
})

t.test('authors publish, readers comment, and admins hide comments and name authors', { skip }, async t => {
  const app = await runApp(t, 'blog')
  const write = async (page: Page, slug: string, title: string): Promise<void> => {
    await page.goto(`${app.app}/write`)
    await submit(page, 'form.desk', { Slug: slug, Title: title, Text: `the words of ${slug}` })
    await page.locator('a.saved').click()
    await page.getByRole('heading', { name: title }).waitFor()
  }
  // The first user is the admin.
  const admin = await app.visit('/write', 'Admin')
  await admin.waitForURL(`${app.app}/sign-in?next=%2Fwrite`)
  const account = { Handle: 'admin', Email: 'admin@example.org', Password: 'correct horse battery' }
  await submit(admin, 'form.up', account)
  await admin.waitForURL(`${app.app}/`)
  await write(admin, 'one', '<One> & only')

  // A reader sees no draft, and may not write.
  const reader = await app.visit('/', 'Reader')
  await reader.getByText('the first posts').waitFor()
  t.equal(await reader.locator('li').count(), 0)
  const token = await signUp(app.app, { email: 'ben@example.org', handle: 'ben' })
  const draft = { slug: 'mine', title: 'Mine', text: 'mine' }
  t.match(await call(app.app, '/api/mutation/write', draft, token), { status: 403, body: { code: 'RUN_FORBIDDEN' } })
  t.match(await call(app.app, '/api/query/reading?slug="one"', undefined, token), { status: 404 })
  t.match(await call(app.app, '/api/mutation/publish', { slug: 'one' }, token), { status: 404 })
  // The roles of a sign-up are set only by the program.
  const sneaky = { handle: 'eve', email: 'eve@example.org', password: 'correct horse', roles: ['admin'] }
  t.match(await call(app.app, '/api/auth/sign_up', sneaky), { status: 400 })

  await admin.getByRole('button', { name: 'Publish' }).click()
  await admin.getByRole('button', { name: 'Publish' }).waitFor({ state: 'detached' })
  await reader.reload()
  await reader.getByRole('link', { name: '<One> & only' }).click()
  await reader.getByRole('heading', { name: '0 comments' }).waitFor()
  t.match(await (await fetch(`${app.app}/feed`)).text(), '<li>&lt;One&gt; &amp; only</li>')

  // Comments appear on the open page. The limit counts the comments of each user.
  for (const text of ['first', 'second', 'third']) {
    t.match(await call(app.app, '/api/mutation/comment', { slug: 'one', text }, token), { status: 200 })
  }
  t.match(await call(app.app, '/api/mutation/comment', { slug: 'one', text: 'x' }, token), { status: 429 })
  t.match(await call(app.app, '/api/mutation/comment', { slug: 'one', text: 'x' }), { status: 401 })
  await reader.getByRole('heading', { name: '3 comments' }).waitFor()
  t.match(await call(app.app, '/api/mutation/hide', { id: 2 }, token), { status: 403 })
  await admin.locator('li').filter({ hasText: 'second' }).getByRole('button').click()
  await reader.getByRole('heading', { name: '2 comments' }).waitFor()
  t.equal(await admin.locator('ol li').count(), 3)

  // A new author counts as one with the next request.
  const asAdmin = { handle: 'ben', roles: ['author'] }
  t.match(await call(app.app, '/api/mutation/set_roles', asAdmin, token), { status: 403 })
  const saved = await admin.evaluate(async body => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return (await fetch('/api/mutation/set_roles', init)).status
  }, asAdmin)
  t.equal(saved, 200)
  t.match(await call(app.app, '/api/mutation/write', draft, token), { status: 200 })
  t.match(await call(app.app, '/api/mutation/write', { ...draft, slug: 'one' }, token), { status: 409 })

  // Pages of the list, newest first.
  for (let number = 0; number < 6; number++) await write(admin, `post-${number}`, `Post ${number}`)
  await admin.goto(`${app.app}/`)
  await admin.locator('a.older').click()
  await admin.getByText('the first posts').waitFor()
  t.strictSame(await admin.locator('li a').allTextContents(), ['Post 0', 'Mine', '<One> & only'])
  t.match(await call(app.app, '/api/query/entries?cursor="no"'), { status: 400, body: { code: 'RUN_CURSOR' } })
  t.match(await call(app.app, '/api/query/found?words="words"'), { status: 200, body: [{ slug: 'one' }] })
  t.match(await call(app.app, '/api/query/found?words="words"', undefined, token), { body: [{ slug: 'one' }] })
  t.same((await call(app.app, '/api/query/writers')).body, [{ author: 1, posts: 1 }])
  t.equal(await sqlite(app, 'select count(*) from Comment where hidden'), '1')
  await checkFiles(t, app)
})
