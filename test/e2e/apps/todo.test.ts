import t from 'tap'
import { call, checkFiles, checkProgram, runApp, signUp, skip, sqlite, submit } from './running-app.ts'

t.setTimeout(300_000)

t.test('the to-do list is checked, tested, formatted and built', async t => {
  await checkProgram(t, 'todo')
})

t.test('users see, change and clear their own tasks and see shared ones', { skip }, async t => {
  const app = await runApp(t, 'todo')
  const [ann, ben] = [await app.visit('/', 'Ann'), await app.visit('/', 'Ben')]
  for (const [page, name] of [
    [ann, 'Ann'],
    [ben, 'Ben']
  ] as const) {
    await page.waitForURL(`${app.app}/welcome?next=%2F`)
    const fields = { Name: name, Email: `${name}@example.org`, Password: 'correct horse battery' }
    await submit(page, 'form.up', fields)
    await page.getByText('Nothing to do.').waitFor()
  }
  await submit(ann, 'form.add', { Title: 'secret of Ann' })
  await ann.getByText('1 left').waitFor()
  await ann.getByLabel('Shared').check()
  await submit(ann, 'form.add', { Title: 'for all' })
  await ann.getByText('2 left').waitFor()
  // Ben's page follows the query.
  await ben.getByText('for all').waitFor()
  t.strictSame(await ben.locator('li span').allTextContents(), ['for all'])
  t.notOk(await ann.getByLabel('Shared').isChecked())

  await ann.locator('li').first().getByRole('button', { name: 'Urgent' }).click()
  await ann.locator('li').first().getByText('high').waitFor()
  await ann.getByLabel('secret of Ann').click()
  await ann.getByText('1 left').waitFor()
  await ann.locator('button.clear').click()
  await ann.getByText('secret of Ann').waitFor({ state: 'detached' })
  await ann.reload()
  await ann.getByText('for all').waitFor()
  t.strictSame(await ann.locator('li span').allTextContents(), ['for all'])

  await ann.locator('form.out button').click()
  await ann.waitForURL(`${app.app}/welcome`)
  await submit(ann, 'form.in', { Email: 'Ann@example.org', Password: 'wrong' })
  await ann.waitForURL(/\/welcome\?.*problem=/)

  const carl = await signUp(app.app, { name: 'Carl', email: 'carl@example.org' })
  t.match(await call(app.app, '/api/query/tasks'), { status: 401, body: { code: 'RUN_UNAUTHORIZED' } })
  t.match(await call(app.app, '/api/query/tasks', undefined, carl), { status: 200, body: [{ title: 'for all' }] })
  // A row of another user is not changed, nor told apart from a missing one.
  const [{ _id: shared }] = (await call(app.app, '/api/query/tasks', undefined, carl)).body as [{ _id: number }]
  t.match(await call(app.app, '/api/mutation/toggle', { id: shared }, carl), { status: 403 })
  for (const id of [shared, 999]) {
    const change = { id, priority: { _tag: 'Low' } }
    t.match(await call(app.app, '/api/mutation/set_priority', change, carl), {
      status: 403,
      body: { error: `Task: there is no row ${id} that the caller may update` }
    })
  }
  t.match(await call(app.app, '/api/mutation/add_task', { title: ' ' }, carl), {
    status: 500,
    body: { error: 'a task needs a title' }
  })
  t.equal(await sqlite(app, 'select count(*) from Task where done'), '0')
  await checkFiles(t, app)
})
