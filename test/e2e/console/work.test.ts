import type { Page } from 'playwright-core'
import t from 'tap'
import { makeProject, serve } from '../served-project.ts'
import { accessibilityProblems, launch, noBrowser, openConsole } from './browser.ts'

const SETTINGS = `
[orchestrator]
auto_continue_enabled = false
stubcheck_gate = false
# No agent works on the tasks, so that they stay in the state in which a test leaves them.
[plugins.agent-fleet]
enabled = false
`

/** Calls an operation through the console, as the signed-in person. */
async function call<A = Record<string, unknown>>(page: Page, operation: string, input: object): Promise<A> {
  const answer = await page.evaluate(`fetch('/ui/api/call/${operation}', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-token': localStorage.getItem('svc-token') },
    body: ${JSON.stringify(JSON.stringify(input))}
  }).then(async answer => ({ ok: answer.ok, body: await answer.json() }))`)
  const { ok, body } = answer as { readonly ok: boolean; readonly body: A }
  if (!ok) throw new Error(`${operation}: ${JSON.stringify(body)}`)
  return body
}

/** Submits tasks in several states, a plan, messages and sessions. Returns the plan's id. */
async function seed(page: Page): Promise<string> {
  const submit = (description: string, more: object = {}) =>
    call(page, 'orchestrator.submitTask', { description, planning_mode: 'direct', ...more })
  await submit('Write the parser', { files: [{ path: 'src/parser.ts' }], agent_name: 'parser' })
  await submit('Test the parser', { files: [{ path: 'src/parser.ts', access: 'read' }], depends_on: [1] })
  await submit('Delete the old tables', { requires_approval: true })
  await submit('Measure the parser', { agent_name: 'tester' })
  await submit('Document the parser', { agent_name: 'tester' })
  await call(page, 'orchestrator.doubtTask', { task_id: 4, reason: 'the numbers differ' })
  await call(page, 'orchestrator.failTask', { task_id: 5, reason: 'the disk is full' })
  await call(page, 'orchestrator.askAgent', { from_agent_id: 1, to_agent_id: 2, question: 'Which grammar?' })
  await call(page, 'sessions.create', { agent_id: 1 })
  await call(page, 'sessions.setContext', { key: 'grammar', value: 'LL(1)' })
  const goal = 'Add the login page to src/login.ts\nWrite a test for the login page\nUpdate the guide of the login page'
  const { session_id } = await call<{ session_id: string }>(page, 'ai.plan.new', { goal })
  await call(page, 'ai.plan.replan', { session_id, delta_hint: 'Translate the login page.' })
  return session_id
}

t.test('pages of tasks, agents, plans, sessions and messages', { skip: noBrowser }, async t => {
  const server = await serve(t, makeProject(t, { 'svc.toml': SETTINGS }))
  const browser = await launch(t)
  const { page, open } = await openConsole(browser, server)
  const plan = await seed(page)
  const { sessions } = await call<{ sessions: { session_id: string }[] }>(page, 'sessions.list', {})
  const paths = [
    '/ui/p/orchestrator-tools/tasks',
    '/ui/p/orchestrator-tools/tasks?tab=1',
    '/ui/p/orchestrator-tools/tasks?tab=2',
    '/ui/p/orchestrator-tools/tasks/1',
    ...[1, 2, 3, 4, 5, 6, 7, 8].map(tab => `/ui/p/orchestrator-tools/tasks/2?tab=${tab}`),
    '/ui/p/orchestrator-tools/tasks/1/routing',
    '/ui/p/orchestrator-tools/agents',
    '/ui/p/orchestrator-tools/agents/1',
    '/ui/p/orchestrator-tools/locks',
    '/ui/p/orchestrator-tools/locks?tab=1',
    '/ui/p/planning/plans',
    ...[0, 1, 2, 3, 4].map(tab => `/ui/p/planning/plans/${plan}?tab=${tab}`),
    '/ui/p/questioning/questions',
    '/ui/p/sessions/sessions',
    `/ui/p/sessions/sessions/${encodeURIComponent(sessions[0]?.session_id ?? '')}`,
    '/ui/p/sessions/sessions?tab=1',
    '/ui/p/sessions/context/grammar',
    '/ui/p/a2a/messages',
    '/ui/p/a2a/messages?tab=1',
    '/ui/p/a2a/messages?tab=2'
  ]
  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 390]
  ] as const)
    await t.test(`have no error and no accessibility problem, ${colorScheme}, ${width} px`, async t => {
      const own = await openConsole(browser, server, { colorScheme, viewport: { width, height: 900 } })
      for (const path of paths) {
        own.problems.length = 0
        await own.open(path)
        if (path.endsWith('/routing')) await own.page.getByText('Back to the task').waitFor()
        if (process.env.SHOTS !== undefined)
          await own.page.screenshot({ path: `${process.env.SHOTS}/${width}${path.replaceAll(/\W+/g, '-')}.png` })
        t.same(own.problems, [], `${path}: no errors`)
        t.equal(await own.page.locator('[role=alert]').count(), 0, `${path}: no notice of an error`)
        t.same(await accessibilityProblems(own.page), [], `${path}: no accessibility problems`)
        const [scroll, client] = (await own.page.evaluate(
          '[document.querySelector("main.content").scrollWidth, document.querySelector("main.content").clientWidth]'
        )) as [number, number]
        t.equal(scroll, client, `${path}: fits`)
      }
      await own.context.close()
    })

  await t.test('an approval and a doubt in the inbox are one click each', async t => {
    await open('/ui/inbox')
    await page.getByText('T-0003 waits for approval').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('T-0003 waits for approval').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Doubt is right: queue again' }).click()
    await page.getByText('T-0004 is doubted').waitFor({ state: 'detached' })
    t.match(await call(page, 'orchestrator.tasks.record', { task_id: 3 }), { state: 'Queued' })
    t.match(await call(page, 'orchestrator.tasks.record', { task_id: 4 }), { state: 'Queued' })
  })

  await t.test('the table of tasks follows changes, and its filters are in the address', async t => {
    await open('/ui/p/orchestrator-tools/tasks?state=Failed')
    await page.getByRole('link', { name: 'T-0005' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'T-0001' }).count(), 0)
    await call(page, 'orchestrator.retryTask', { task_id: 5 })
    await page.getByText('No row matches the filters.').waitFor()
    await page.getByLabel('State').selectOption('Blocked')
    await page.getByRole('link', { name: 'T-0002' }).click()
    await page.waitForURL('**/tasks/2')
    await page.getByRole('button', { name: 'Change priority' }).waitFor()
    t.pass('a row opens the task, with the actions of its state')
  })

  await t.test('a task is submitted with a form, which opens it', async t => {
    await open('/ui/p/orchestrator-tools/submit')
    await page.getByLabel('Description').first().fill('Write the release notes')
    await page.getByRole('button', { name: 'Submit', exact: true }).click()
    await page.waitForURL('**/orchestrator-tools/tasks/*')
    await page.locator('main').getByText('Write the release notes').waitFor()
    t.pass('the task is shown')
  })

  await t.test('the routing of a task is drawn, and leads back to the task', async t => {
    await open('/ui/p/orchestrator-tools/tasks/1/routing')
    await page.getByRole('table').first().waitFor()
    t.match(await page.getByRole('table').first().innerText(), /Score/)
    await page.getByRole('link', { name: 'Back to the task' }).click()
    await page.waitForURL('**/tasks/1')
    t.pass('it is a link of the console')
  })

  await t.test('a viewer sees tasks, and no buttons', async t => {
    const viewer = await openConsole(browser, server, { role: 'viewer' })
    await viewer.open('/ui/p/orchestrator-tools/tasks/1')
    t.match(await viewer.page.locator('main').innerText(), 'Write the parser')
    for (const name of ['Cancel task', 'Doubt', 'Change priority'])
      t.equal(await viewer.page.getByRole('button', { name }).count(), 0, name)
    await viewer.context.close()
  })
})
