import { join } from 'node:path'
import t from 'tap'
import { build, install, typeCheck } from './building.ts'

const LISTS = `
fn total(prices: List[float]) to float { prices.fold(0.0, fn(sum, price) sum + price) }
fn doubled(xs: List[int]) to List[int] { xs.flat_map(fn(x) [x, x]) }
fn pairs(names: List[str], ages: List[int]) to List[(str, int)] { names.zip(ages) }
fn ascending(xs: List[int]) to List[int] { xs.sort() }
fn cheapest(prices: List[dec]) to List[dec] { prices.sort() }
fn bill(price: dec, count: int) to dec { price * dec(count) + dec("0.50") }
fn shortest(names: List[str]) to List[str] { names.sort_by(fn(name) name.len()) }
fn middle(names: List[str], from: int) to List[str] { names.slice(from, from + 2) }
fn angle(x: float) to float { std.math.ln(std.math.e()) * std.math.atan2(x, std.math.pi()) + std.random.float() }
fn tail(name: str) to str { name.slice(1) }

component Lists() {
    view: <p>{str(total([1.5])) + str(doubled([1])) + str(pairs(["a"], [1])) + str(ascending([2, 1])) +
        str(cheapest([2dec, 1dec])) + str(bill(1.5dec, 2)) + str(shortest(["bb", "a"])) + str(middle(["a"], 0)) + tail("ab") + str(angle(0.5))}</p>
}
routes { "/" to Lists }
`

t.test(
  'methods that combine and sort lists, and mathematics, become TypeScript that type-checks in strict mode',
  async t => {
    const folder = t.testdir({ 'app.vox': LISTS })
    const out = join(folder, 'web')
    const ran = await build(join(folder, 'app.vox'), out, { scaffold: true })
    t.equal(ran.code, 0, ran.err)
    install(out)
    t.equal(await typeCheck(out), '')
  }
)
