import { coordinationSql as crd, type ThreadConnection } from '@svc/contracts'

/** Returns the queue of a program's runs. The key of an item is the id of its run. */
export function runQueue(program: string): string {
  return `wf:${queueName(program)}`
}

/** Returns the queue of child runs, which the turns of their parents claim. */
export function childQueue(program: string): string {
  return `wf-child:${queueName(program)}`
}

/** Returns the queue of a program's mailboxes. The key of an item is the actor and its instance. */
export function mailboxQueue(program: string): string {
  return `actor:${queueName(program)}`
}

/** Returns the queue of the steps of a program that the mesh shall do. The key of an item is the run and its signal. */
export function meshQueue(program: string): string {
  return `wf-mesh:${queueName(program)}`
}

/** Maximum length of a program's path in the name of a queue; a longer one is replaced by its hash. */
const MAX_PROGRAM = 400

function queueName(program: string): string {
  return program.length <= MAX_PROGRAM ? program : crd.hashText(program)
}

/** Runs a query of the coordination store on a thread's connection, in its open transaction if there is one. */
export function readInThread<A>(connection: ThreadConnection, { statements, read }: crd.SqlOperation<A>): A {
  return read(statements.map(({ sql, parameters }) => connection.query(sql, parameters)))
}
