import t from 'tap'
import { runSvc } from '../../../../test/e2e/run-svc.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'

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

t.test('runs are started, signalled, shown and cancelled from the command line', async t => {
  const folder = makeProject(t, { 'order.vox': SOURCE })
  const svc = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const short = ['--set', 'plugins.app-runtime.time_limit_ms=1500']
    const { code: status, stdout, stderr } = await runSvc(folder, [...args, ...short], { env })
    return { status, stdout, stderr }
  }
  const order = ['workflow', 'run', 'order.vox', 'order', '--args', '{"item":"cup"}', '--run-id', 'o1']
  t.match(await svc(['workflow', 'check', 'order.vox', '--json']), { status: 0, stdout: /"name":"order"/ })
  t.match(await svc(order), {
    status: 1,
    stdout: '',
    stderr: /reserving cup[\s\S]*RUN_WORKFLOW_PENDING.*the signal paid/
  })
  const { stdout: list } = await svc(['workflow', 'list', '--json'])
  t.match(JSON.parse(list), { runs: [{ run_id: 'o1', workflow: 'order', status: 'waiting', waits_for: 'paid' }] })
  t.match(await svc(['workflow', 'signal', 'o1', 'paid', '--payload', '{"who":"me"}']), { status: 0 })
  const done = await svc(['workflow', 'run', 'order.vox', 'order', '--run-id', 'o1', '--json'])
  t.same(JSON.parse(done.stdout), { run_id: 'o1', result: { _tag: 'Ok', value: 'r-cup 1 by me' } })
  t.notMatch(done.stderr, 'reserving', 'completed steps do not run again')
  const shown = await svc(['workflow', 'inspect', 'o1'])
  t.match(shown.stdout, /o1: order of order.vox is completed[\s\S]*ActivityReplayed order-0[\s\S]*WorkflowCompleted/)
  t.match(await svc(['workflow', 'signal', 'o1', 'paid']), { stderr: /accepts no signal: it is completed/ })
  t.match(await svc(['workflow', 'prune', '--keep-runs', '0', '--dry-run']), {
    status: 0,
    stdout: /would delete 1 ended run/
  })
  t.match(await svc(['workflow', 'prune']), { status: 0, stdout: /deleted 0 ended runs/ }, 'a new run is not deleted')
  t.match(await svc(['workflow', 'prune', '--keep-days', '0', '--json']), { status: 0, stdout: /"runs":1/ })
  t.match(await svc(['workflow', 'inspect', 'o1']), { status: 4, stderr: /RUN_WORKFLOW_UNKNOWN/ })
  const ordered = (args: string) => svc(['run', 'order.vox'], { SVC_RUN_WORKFLOW: 'fails', SVC_WORKFLOW_ARGS: args })
  const runOrder = (args: string) => svc(['workflow', 'run', 'order.vox', 'order', '--args', args])
  // Each starts a separate process.
  await Promise.all([
    runOrder('["cup", "two"]').then(ran =>
      t.match(ran, { status: 1, stderr: /RUN_ARGUMENTS[\s\S]*count: expected int, found "two"/ })
    ),
    svc(['workflow', 'run', 'order.vox', 'nothing']).then(ran =>
      t.match(ran, { status: 1, stderr: /it has order, fails/ })
    ),
    ordered('["1.25"]').then(ran => t.match(ran, { status: 0, stdout: '{"_tag":"Ok","value":"1.25"}\n' })),
    ordered('{"n":"2"}').then(ran => t.match(ran, { status: 2, stdout: '{"_tag":"Err","value":"too much"}\n' })),
    ordered('{"n":true}').then(ran => t.match(ran, { status: 2, stderr: /RUN_ARGUMENTS/ }))
  ])
})
