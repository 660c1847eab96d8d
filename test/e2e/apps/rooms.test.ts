import t from 'tap'
import { call, checkFiles, checkProgram, runApp, skip, sqlite, submit } from './running-app.ts'

t.setTimeout(300_000)

t.test('the chat rooms are checked, tested, formatted and built', async t => {
  await checkProgram(t, 'rooms')
})

t.test('a message appears at once in every open page of its room', { skip }, async t => {
  const app = await runApp(t, 'rooms')
  const [ann, ben] = [await app.visit('/', 'Ann'), await app.visit('/', 'Ben')]
  await submit(ann, 'form', { 'New room': 'Garden' })
  await ben.getByRole('link', { name: 'Garden' }).click()
  await ben.getByRole('heading', { name: 'Garden' }).waitFor()
  await ann.goto(`${app.app}/rooms/garden`)
  for (const [page, name] of [
    [ann, 'Ann'],
    [ben, 'Ben']
  ] as const) {
    await submit(page, 'form', { Name: name, Message: `hello from ${name}` })
    for (const reader of [ann, ben]) await reader.getByText(`hello from ${name}`).waitFor()
  }
  t.strictSame(await ann.locator('li').allTextContents(), ['Ann: hello from Ann', 'Ben: hello from Ben'])
  // Messages of other clients and of other rooms.
  await call(app.app, '/api/mutation/open', { slug: 'attic', title: 'Attic' })
  await call(app.app, '/api/mutation/say', { slug: 'attic', author: 'Carl', text: 'elsewhere' })
  await call(app.app, '/api/mutation/say', { slug: 'garden', author: 'Carl', text: '<b>no markup</b>' })
  for (const reader of [ann, ben]) await reader.getByText('<b>no markup</b>').waitFor()
  t.equal(await ann.getByText('elsewhere').count(), 0)

  await ann.goto(`${app.app}/rooms/cellar`)
  await ann.getByText('Sorry: NotFound(cellar)').waitFor()
  t.match(await call(app.app, '/api/mutation/open', { slug: ' Garden', title: 'again' }), {
    status: 400,
    body: { error: 'BadRequest(the room exists:  Garden)', details: { _tag: 'BadRequest' } }
  })
  t.match(await call(app.app, '/api/query/talk?slug="cellar"'), {
    status: 404,
    body: { details: { _tag: 'NotFound', slug: 'cellar' } }
  })
  t.equal(
    await sqlite(app, "select count(*) from Message where room = (select _id from Room where slug = 'garden')"),
    '3'
  )
  await checkFiles(t, app)
})
