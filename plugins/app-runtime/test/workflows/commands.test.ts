import { spawnSync } from 'node:child_process'
import t from 'tap'
import { makeProject, SVC_BIN } from '../../../../test/e2e/served-project.ts'

const SOURCE = `
activity reserve(item: str) to Result[str] {
    print("reserving", item)
    Ok("r-" + item)
}
workflow order(item: str, count: int = 1) to Result[str] {
    let reservation = reserve(item)?
    let paid = workflow_wait_signal("paid")
    Ok(reservation + " " + str(count) + " by " + paid.who)
}
workflow fails(n: dec) to Result[dec] {
    if n > 1.5dec { return Error("too much") }
    Ok(n)
}
`

t.test('runs are begun, signalled, shown and cancelled from the command line', async t => {
  const folder = makeProject(t, { 'order.vox': SOURCE })
  const svc = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const short = ['--set', 'plugins.app-runtime.time_limit_ms=1500']
    const { status, stdout, stderr } = spawnSync(process.execPath, [SVC_BIN, ...args, ...short], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, ...env }
    })
    return { status, stdout, stderr }
  }
  const order = ['workflow', 'run', 'order.vox', 'order', '--args', '{"item":"cup"}', '--run-id', 'o1']
  t.match(svc(['workflow', 'check', 'order.vox', '--json']), { status: 0, stdout: /"name":"order"/ })
  t.match(svc(order), { status: 1, stdout: '', stderr: /reserving cup[\s\S]*RUN_WORKFLOW_PENDING.*the signal paid/ })
  const { stdout: list } = svc(['workflow', 'list', '--json'])
  t.match(JSON.parse(list), { runs: [{ run_id: 'o1', workflow: 'order', status: 'waiting', waits_for: 'paid' }] })
  t.match(svc(['workflow', 'signal', 'o1', 'paid', '--payload', '{"who":"me"}']), { status: 0 })
  const done = svc(['workflow', 'run', 'order.vox', 'order', '--run-id', 'o1', '--json'])
  t.same(JSON.parse(done.stdout), { run_id: 'o1', result: { _tag: 'Ok', value: 'r-cup 1 by me' } })
  t.notMatch(done.stderr, 'reserving', 'what was done is not done again')
  const shown = svc(['workflow', 'inspect', 'o1'])
  t.match(shown.stdout, /o1: order of order.vox is completed[\s\S]*ActivityReplayed order-0[\s\S]*WorkflowCompleted/)
  t.match(svc(['workflow', 'signal', 'o1', 'paid']), { stderr: /takes no signal: it is completed/ })
  t.match(svc(['workflow', 'prune', '--keep-runs', '0', '--dry-run']), { status: 0, stdout: /would delete 1 run that/ })
  t.match(svc(['workflow', 'prune']), { status: 0, stdout: /deleted 0 runs/ }, 'it is new')
  t.match(svc(['workflow', 'prune', '--keep-days', '0', '--json']), { status: 0, stdout: /"runs":1/ })
  t.match(svc(['workflow', 'inspect', 'o1']), { status: 4, stderr: /RUN_WORKFLOW_UNKNOWN/ })
  t.match(svc(['workflow', 'inspect', 'nobody']), { status: 4, stderr: /RUN_WORKFLOW_UNKNOWN/ })
  t.match(svc(['workflow', 'run', 'order.vox', 'order', '--args', '{"thing":1}']), {
    status: 1,
    stderr: /RUN_ARGUMENTS/
  })
  for (const [args, reason] of [
    ['{}', 'item: expected str, found nothing'],
    ['["cup", "two"]', 'count: expected int, found "two"']
  ] as const) {
    t.match(svc(['workflow', 'run', 'order.vox', 'order', '--args', args]), { status: 1, stderr: reason })
  }
  t.match(svc(['workflow', 'run', 'order.vox', 'nothing']), { status: 1, stderr: /it has order, fails/ })
  const ordered = (args: string) => svc(['run', 'order.vox'], { SVC_RUN_WORKFLOW: 'fails', SVC_WORKFLOW_ARGS: args })
  t.match(ordered('["1.25"]'), { status: 0, stdout: '{"_tag":"Ok","value":"1.25"}\n' })
  t.match(ordered('{"n":"2"}'), { status: 2, stdout: '{"_tag":"Err","value":"too much"}\n' })
  t.match(ordered('{"n":true}'), { status: 2, stderr: /RUN_ARGUMENTS/ })
})
