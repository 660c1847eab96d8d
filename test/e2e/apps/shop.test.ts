import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeFiles } from '../served-project.ts'
import { call, checkFiles, checkProgram, runApp, signUp, skip, sqlite, submit } from './running-app.ts'

t.setTimeout(300_000)

/** A picture of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64'
)

t.test('the shop is checked, tested, formatted and built', async t => {
  await checkProgram(t, 'shop')
})

t.test('an owner adds products with pictures, and customers order them', { skip }, async t => {
  const app = await runApp(t, 'shop')
  const owner = await app.visit('/office', 'Owner')
  await owner.waitForURL(`${app.app}/sign-in?next=%2Foffice`)
  const account = { Email: 'owner@example.org', Password: 'correct horse battery' }
  await submit(owner, 'form.up', account)
  await owner.waitForURL(`${app.app}/`)
  await owner.goto(`${app.app}/office`)
  const tea = { SKU: 'T1', Name: 'Tea', Category: 'drinks', Price: '2.50', Stock: '3', Tags: 'hot,green' }
  await owner.getByLabel('Picture').setInputFiles({ name: 'tea.png', mimeType: 'image/png', buffer: PNG })
  await submit(owner, 'form.new', tea)
  // Both the text and the file are cleared once the product is stored.
  await owner.waitForFunction(`document.querySelector('[aria-label=SKU]').value === ''`)
  t.equal(await owner.getByLabel('Picture').inputValue(), '')
  for (const [sku, price] of ['1.10', '9.99', '0.30'].entries()) {
    await submit(owner, 'form.new', { ...tea, SKU: `S${sku}`, Name: `Snack ${sku}`, Category: 'food', Price: price })
    await owner.waitForFunction(`document.querySelector('[aria-label=SKU]').value === ''`)
  }

  const token = await signUp(app.app, { email: 'ann@example.org' })
  t.match(await call(app.app, '/api/mutation/add_product', { ...tea, sku: 'X' }, token), { status: 403 })
  t.match(await call(app.app, '/api/query/sales', undefined, token), { status: 403, body: { code: 'RUN_FORBIDDEN' } })

  const ann = await app.visit('/sign-in', 'Ann')
  await submit(ann, 'form.in', { Email: 'ann@example.org', Password: 'correct horse battery' })
  await ann.getByText('Tea').waitFor()
  t.strictSame(await ann.locator('.price').allTextContents(), ['0.30', '1.10', '2.50'])
  // The picture is shown to everyone who has its signed address.
  await ann.waitForFunction(`document.querySelector('img').naturalWidth === 1`)
  const address = (await ann.locator('img').getAttribute('src')) as string
  t.same(Buffer.from(await (await fetch(app.app + address)).arrayBuffer()), PNG)
  t.equal((await fetch(app.app + address.replace(/expires=\d/, 'expires=9'))).status, 403)
  const row = ann.locator('li').filter({ hasText: 'Tea' })
  for (const left of [2, 1, 0]) {
    await row.getByRole('button', { name: 'Order' }).click()
    await row.getByText(`${left} left`).waitFor()
  }
  t.ok(await row.getByRole('button', { name: 'Order' }).isDisabled())
  t.match(await call(app.app, '/api/mutation/order', { sku: 'T1', count: 1 }, token), {
    status: 409,
    body: { details: { _tag: 'Conflict', sku: 'T1', left: 0 } }
  })
  await ann.locator('a.next').click()
  await ann.getByText('the end').waitFor()
  t.strictSame(await ann.locator('.price').allTextContents(), ['9.99'])

  // Orders at once never take more than there is.
  const orders = Array.from({ length: 10 }, () => call(app.app, '/api/mutation/order', { sku: 'S1', count: 1 }, token))
  const statuses = (await Promise.all(orders)).map(({ status }) => status).sort()
  t.same(statuses, [...Array(3).fill(200), ...Array(7).fill(409)])
  t.match(await call(app.app, '/api/query/spent', undefined, token), { status: 200, body: '37.47' })
  t.match(await call(app.app, '/api/query/my_orders', undefined, token), {
    body: [{ product: { name: 'Snack 1' }, total: '9.99' }]
  })
  t.same((await call(app.app, '/api/query/price_range')).body, ['0.30', '9.99'])
  await owner.reload()
  await owner.getByText('29.97').waitFor()
  t.strictSame(await owner.locator('tr').allTextContents(), ['3329.97', '137.50'])

  // A change of the program is a change of the tables.
  const source = readFileSync(join(app.folder, 'app.vox'), 'utf8')
  const changed = source.replace('    stock: int\n', '    stock: int\n    weight: int = 100\n    origin: Option[str]\n')
  writeFiles(app.folder, { 'next.vox': changed })
  renameSync(join(app.folder, 'next.vox'), join(app.folder, 'app.vox'))
  const hasColumn = async (): Promise<boolean> => (await sqlite(app, '.schema Product')).includes('weight')
  while (!(await hasColumn())) await new Promise(resolve => setTimeout(resolve, 50))
  t.equal(await sqlite(app, 'select sum(weight), count(origin), sum(stock) from Product'), '400|0|6')
  t.equal(await sqlite(app, 'select distinct tags from Product'), '["hot","green"]')
  await checkFiles(t, app)
})
