import type { Link } from '@svc/contracts'

/** Paths of the pages. */
export const TASKS = 'orchestrator-tools/tasks'
export const TASK = 'orchestrator-tools/tasks/:id'
export const ROUTING = 'orchestrator-tools/tasks/:id/routing'
export const AGENTS = 'orchestrator-tools/agents'
export const AGENT = 'orchestrator-tools/agents/:id'

export const SUBMIT_HINT = 'Submit one with the button Submit a task, or with: svc orch submit "Write the parser"'

/** Links to the page of the task or agent whose id is in a field of the row. */
export const taskLink = (name: string): Link => ({ page: TASK, params: { id: { from: 'row', name } } })
export const agentLink = (name: string): Link => ({ page: AGENT, params: { id: { from: 'row', name } } })
export const tasksInState = (state: string): Link => ({ page: TASKS, params: { state: { value: state } } })

/** Input of the operations of a task's page. */
export const ofTask = { task_id: { from: 'route', name: 'id' } } as const

/** Fields of the row that an action is on. */
export const row = (name: string) => ({ from: 'row', name }) as const
/** Shows an action for rows in one of the states. */
export const inState = (...states: readonly string[]) => ({ field: 'state', in: states })
