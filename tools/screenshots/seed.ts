import type { Page } from 'playwright-core'
import type { DemoServer } from './demo-server.ts'

const BOOKS = [
  ['9780131103627', 'The C Programming Language', 'Kernighan, Ritchie', 52.5, 4],
  ['9780201835953', 'The Mythical Man-Month', 'Brooks', 34.9, 9],
  ['9780262510875', 'Structure and Interpretation of Computer Programs', 'Abelson, Sussman', 61, 2],
  ['9781449373320', 'Designing Data-Intensive Applications', 'Kleppmann', 44.95, 12],
  ['9780134190440', 'The Go Programming Language', 'Donovan, Kernighan', 38, 7]
] as const
const QUESTIONS = ['make a table of books with a title and a price', 'count the books', 'a query of books by author']
/** Of the task that is completed; the file has no unfinished code. */
const EVIDENCE = {
  completion_summary:
    'The label has the address in the format of the carrier; a person compared ten of them with its samples',
  checks_passed: ['human_review_approved'],
  artifact_paths: ['src/labels.ts']
}

/** Ids of what has a page with details. */
export interface Seeded {
  readonly task: number
  readonly request: string
}

/** Leaves tasks in several states, a plan, rows, workflows, a failed request, and calls of the model. */
export async function seed(page: Page, server: DemoServer): Promise<Seeded> {
  const submit = async (description: string, more: object = {}): Promise<number> => {
    const input = { description, planning_mode: 'direct', ...more }
    return (await call(page, 'orchestrator.submitTask', input)).task_id as number
  }
  const file = (path: string) => ({ files: [{ path, access: 'write' }] })
  const labels = await submit('Print the labels in the format of the carrier', file('src/labels.ts'))
  await call(page, 'orchestrator.completeTask', { task_id: labels, ...EVIDENCE })
  const prices = await submit('Ask the carrier for the price of a parcel', file('src/shipping.py'))
  await submit('Delete the orders of 2019', { requires_approval: true })
  const doubted = await submit('Measure how long the search of books takes')
  await call(page, 'orchestrator.doubtTask', { task_id: doubted, reason: 'the numbers differ from those of last week' })
  const failed = await submit('Import the catalogue of the publisher', file('src/import.ts'))
  await call(page, 'orchestrator.failTask', { task_id: failed, reason: 'the file of the publisher is not valid XML' })
  await submit('Write tests for partial refunds', { priority: 'Urgent', ...file('src/returns.ts') })
  await call(page, 'planning.plan', { goal: 'Add partial refunds; write tests for them; describe them in the README' })
  await call(page, 'stub-check.scan', {})
  await call(page, 'search.index', {})

  for (const [isbn, title, author, price, stock] of BOOKS)
    await mutate(server, 'add_book', { isbn, title, author, price: String(price), stock })
  await fetch(`${server.appUrl}/api/query/books`)
  await mutate(server, 'order', { book: '9780131103627', copies: 2 })
  await mutate(server, 'order', { book: '9781449373320', copies: 25 })
  const request = 'revenue-by-shelf'
  if ((await mutate(server, 'revenue', {}, { 'x-request-id': request })) !== 500)
    throw new Error('revenue: it did not fail')

  for (const content of QUESTIONS) {
    const body = JSON.stringify({ temperature: 0, messages: [{ role: 'user', content }] })
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`${server.modelUrl}/v1/chat/completions`, { method: 'POST', headers, body })).text()
  }
  return { task: prices, request }
}

/** Calls an operation as the person who is signed in. */
export function call(page: Page, operation: string, input: object): Promise<any> {
  return page.evaluate(`fetch('/ui/api/call/${operation}', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-token': localStorage.getItem('svc-token') },
    body: ${JSON.stringify(JSON.stringify(input))}
  }).then(async answer => {
    const text = await answer.text()
    if (!answer.ok) throw new Error('${operation}: ' + text)
    return JSON.parse(text)
  })`)
}

async function mutate(
  { appUrl }: DemoServer,
  name: string,
  input: object,
  headers: Readonly<Record<string, string>> = {}
): Promise<number> {
  const response = await fetch(`${appUrl}/api/mutation/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(input)
  })
  const text = await response.text()
  if (!response.ok && name !== 'revenue') throw new Error(`${name}: ${text}`)
  return response.status
}
