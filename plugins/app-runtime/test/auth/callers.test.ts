import t from 'tap'
import { ANONYMOUS, Interpreter } from '#interpreter'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'
import { callerOf, identity, withCaller } from './with-caller.ts'

const SOURCE = `
@table type Note { text: str }
@role("admin") @mutation fn wipe() to int { 1 }
@auth @query fn mine() to str { request.user.id }
@public @server fn through() to int { wipe() }
@public @server fn by_actor() to int {
    let worker = spawn(Worker)
    worker.work()
}
@public @server fn by_workflow() to int { run_it().unwrap() }
@public @server fn by_activity() to int { act().unwrap() }
actor Worker { on work() to int { wipe() } }
activity act() to Result[int] { Ok(wipe()) }
workflow run_it() to Result[int] { act() }
fn helper(caller: Identity) to str { caller.id + " " + str(caller.roles) }
@auth @query fn passed() to str { helper(request.user) }
fn of_request(r: Request) to str { match r.user { Some(user) => user.id  None => "anonymous" } }
@public @query fn handed() to str { of_request(request) }
@role("admin") @query fn twice() to List[str] { [1, 2].map(fn(n) request.user.id + str(n)) }
@auth @query fn claim() to str { request.user.claims.get_str("team").unwrap_or("-") }
fn main() { print(str(wipe())) }
`

t.test('a guard also checks calls inside the program, for the caller of the request', t => {
  const { outcome } = withCaller(SOURCE)
  const [admin, ann] = [callerOf(identity('eve', ['admin'])), callerOf(identity('ann', ['reader']))]
  t.equal(outcome(admin, 'through'), 1)
  t.equal(outcome(ann, 'through'), 'RUN_FORBIDDEN')
  t.equal(outcome(ANONYMOUS, 'through'), 'RUN_UNAUTHORIZED')
  t.equal(outcome(ANONYMOUS, 'by_activity'), 'RUN_UNAUTHORIZED', 'outside a workflow, an activity is a function')
  t.equal(outcome(null, 'through'), 1, 'the program itself')
  t.equal(outcome(null, 'mine'), 'system')
  t.equal(outcome(ANONYMOUS, 'mine'), 'RUN_UNAUTHORIZED')
  t.equal(outcome(ann, 'mine'), 'ann')
  t.end()
})

t.test('actors and workflows are the program itself, no matter which caller starts them', t => {
  const { outcome } = withCaller(SOURCE)
  for (const name of ['by_actor', 'by_workflow']) t.equal(outcome(ANONYMOUS, name), 1, name)
  t.equal(outcome(ANONYMOUS, 'through'), 'RUN_UNAUTHORIZED', 'the caller of a later call is not the program')
  t.end()
})

t.test('the identity is a value: helpers, closures and claims', t => {
  const { outcome } = withCaller(SOURCE)
  const admin = callerOf({ ...identity('eve', ['admin']), claims: { team: 'red' } })
  t.equal(outcome(admin, 'passed'), 'eve [admin]')
  t.equal(outcome(admin, 'handed'), 'eve')
  t.equal(outcome(ANONYMOUS, 'handed'), 'anonymous')
  t.same(outcome(admin, 'twice'), ['eve1', 'eve2'])
  t.equal(outcome(admin, 'claim'), 'red')
  t.end()
})

const TESTS = `${SOURCE}
@test fn anonymous() { assert(is_refused(fn() mine())) }
@test fn as_somebody() {
    assert(as_user("ann", fn() mine()) is "ann")
    assert(as_user(Identity { id: "eve", roles: ["admin"] }, fn() wipe()) is 1)
    assert(as_user("ann", fn() is_refused(fn() wipe())))
    assert(as_user(7, fn() mine()) is "7")
    assert(as_anyone(fn() handed()) is "anonymous")
    assert(is_refused(fn() mine()))
}
@test fn refused() { mine() }
@server fn cheat() to int { as_user(Identity { id: "eve", roles: ["admin"] }, fn() wipe()) }
`

t.test('a test calls as an anonymous caller, and as others', t => {
  const interpreter = new Interpreter(programFrom(TESTS), hostOf([]))
  for (const name of ['anonymous', 'as_somebody']) t.doesNotThrow(() => interpreter.test(name, [], LIMITS), name)
  t.throws(() => interpreter.test('refused', [], LIMITS), { code: 'RUN_UNAUTHORIZED' })
  t.throws(() => interpreter.call('cheat', [], LIMITS), { code: 'RUN_UNSUPPORTED' }, 'outside a test')
  t.end()
})
