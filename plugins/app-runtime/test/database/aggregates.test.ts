import fc from 'fast-check'
import t from 'tap'
import { display } from '#interpreter'
import { withTables } from './with-tables.ts'

const ORDERS = `
@table
type Order {
    status: str
    customer: Option[str]
    items: int
    weight: float
    amount: dec
    tip: Option[dec]
    paid: bool
}
fn fill() {
    db.Order.insert({ status: "open", customer: "ann", items: 2, weight: 1.5, amount: 0.10dec, tip: 1.25dec, paid: false })
    db.Order.insert({ status: "open", customer: None, items: 3, weight: 2.5, amount: 0.20dec, tip: None, paid: true })
    db.Order.insert({ status: "done", customer: "bob", items: 5, weight: 0.25, amount: 12345678901234567890.05dec, tip: 0.5dec, paid: true })
}
`

function shown(expression: string, before = 'fill()'): string {
  const { call } = withTables(`${ORDERS}\nfn main() to any { ${before}\n ${expression} }`)
  return display(call('main'))
}

t.test('sum, avg, min and max compute one value of all matching rows', async t => {
  const cases: Record<string, string> = {
    'db.Order.all().sum("items")': '10',
    'db.Order.all().sum("weight")': '4.25',
    'db.Order.where({ status: "open" }).sum("amount")': '0.30',
    'db.Order.all().sum("amount")': '12345678901234567890.35',
    'db.Order.all().sum("tip")': '1.75',
    'db.Order.all().avg("items")': 'Some(3.3333333333333335)',
    'db.Order.where({ status: "open" }).avg("amount")': 'Some(0.15)',
    'db.Order.all().min("items")': 'Some(2)',
    'db.Order.all().max("amount")': 'Some(12345678901234567890.05)',
    'db.Order.all().max("status")': 'Some(open)',
    'db.Order.all().min("customer")': 'Some(ann)',
    'db.Order.all().min("tip")': 'Some(0.5)',
    'db.Order.all().max(_id)': 'Some(3)',
    'db.Order.filter({ status: "open" }).max("weight")': 'Some(2.5)'
  }
  for (const [expression, expected] of Object.entries(cases)) t.equal(shown(expression), expected, expression)
})

t.test('without rows, a sum is zero and the other aggregates are None', async t => {
  const rows = 'db.Order.where({ status: "none" })'
  t.equal(shown(`${rows}.sum("items")`), '0')
  t.equal(shown(`${rows}.sum("weight")`), '0')
  t.equal(shown(`${rows}.sum("amount")`), '0')
  for (const name of ['avg', 'min', 'max']) {
    for (const column of ['items', 'weight', 'amount', 'tip']) t.equal(shown(`${rows}.${name}("${column}")`), 'None')
  }
  t.equal(
    shown(`${rows}.aggregate({ n: { count: true }, total: { sum: "amount" }, most: { max: "items" } })`),
    '{n: 0, total: 0, most: None}'
  )
  t.equal(shown(`${rows}.group_by("status").count()`), '[]')
})

t.test('groups have their columns and computed values', async t => {
  const cases: Record<string, string> = {
    'db.Order.all().group_by("status").count()': '[{status: done, count: 1}, {status: open, count: 2}]',
    'db.Order.all().group_by("status").sum("amount")':
      '[{status: done, sum: 12345678901234567890.05}, {status: open, sum: 0.30}]',
    'db.Order.all().group_by("status").max("tip")': '[{status: done, max: Some(0.5)}, {status: open, max: Some(1.25)}]',
    'db.Order.all().group_by("status").min("items")': '[{status: done, min: 5}, {status: open, min: 2}]',
    'db.Order.all().group_by("status", "paid").count()':
      '[{status: done, paid: true, count: 1}, {status: open, paid: false, count: 1}, {status: open, paid: true, count: 1}]',
    'db.Order.all().group_by("customer").count()':
      '[{customer: None, count: 1}, {customer: Some(ann), count: 1}, {customer: Some(bob), count: 1}]',
    'db.Order.all().group_by("status").aggregate({ n: { count: true }, mean: { avg: "amount" }, all: { sum: "items" } }).order_by("n", "desc")':
      '[{status: open, n: 2, mean: 0.15, all: 5}, {status: done, n: 1, mean: 12345678901234567890.05, all: 5}]',
    'db.Order.all().group_by("status").count().order_by("count", "desc").limit(1)': '[{status: open, count: 2}]',
    'db.Order.all().group_by("status").sum("amount").order_by("sum", "desc").limit(1)':
      '[{status: done, sum: 12345678901234567890.05}]',
    'db.Order.all().group_by("status").sum("amount").order_by("sum").limit(1)': '[{status: open, sum: 0.30}]',
    'db.Order.all().group_by("status").sum("amount").order_by("sum").offset(1)':
      '[{status: done, sum: 12345678901234567890.05}]',
    'db.Order.all().group_by("status").count().order_by("status", "desc").limit(1).offset(1)':
      '[{status: done, count: 1}]',
    'db.Order.all().group_by("tip").count().order_by("tip", "desc")':
      '[{tip: Some(1.25), count: 1}, {tip: Some(0.5), count: 1}, {tip: None, count: 1}]'
  }
  for (const [expression, expected] of Object.entries(cases)) t.equal(shown(expression), expected, expression)
})

t.test('decimals that differ only in trailing zeros are one group', async t => {
  const insert = (amount: string) =>
    `db.Order.insert({ status: "a", customer: None, items: 1, weight: 1.0, amount: ${amount}dec, tip: None, paid: true })`
  t.equal(
    shown('db.Order.all().group_by("amount").count()', `${insert('1.50')}\n${insert('1.5')}\n${insert('2')}`),
    '[{amount: 1.5, count: 2}, {amount: 2, count: 1}]'
  )
})

t.test('a sum of ints beyond 64 bits is an overflow', async t => {
  const insert = `db.Order.insert({ status: "a", customer: None, items: 9223372036854775807, weight: 1.0, amount: 1dec, tip: None, paid: true })`
  t.throws(() => shown('db.Order.all().sum("items")', `${insert}\n${insert}`), { code: 'RUN_OVERFLOW' })
  t.equal(shown('db.Order.all().sum("items")', insert), '9223372036854775807')
})

t.test('sums of random decimals are exact', async () => {
  const { call, database } = withTables(`@table type Entry { amount: dec }
fn total() to str { str(db.Entry.all().sum("amount")) }
fn clear() { for each in db.Entry.all() { db.Entry.delete(each._id) } }`)
  const cents = fc.array(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), { maxLength: 12 })
  fc.assert(
    fc.property(cents, values => {
      call('clear')
      for (const value of values) {
        const digits = (value < 0n ? -value : value).toString().padStart(3, '0')
        const text = `${value < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
        database.execute('entry', 'INSERT INTO entry (amount) VALUES (?)', [text])
      }
      const sum = values.reduce((a, b) => a + b, 0n)
      const digits = (sum < 0n ? -sum : sum).toString().padStart(3, '0')
      const text = `${sum < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
      return call('total') === (values.length === 0 ? '0' : text)
    }),
    { numRuns: 60 }
  )
})
