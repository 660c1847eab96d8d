import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { agentOf } from '../agents/lifecycle.ts'
import { bound, type Dependencies } from '../dependencies.ts'
import { TOPICS } from '../feeds/state-feeds.ts'
import { agentId, filePath, normalPath, numberOf } from '../fields.ts'
import { tool } from '../tool.ts'

const errors = orchestrationErrors.specs
const path = filePath('Path relative to the repository.')

const claimFile = defineOperation({
  id: 'orchestrator.claimFile',
  summary: 'Make an agent the owner of a file',
  input: t.object({ agent_id: agentId, path }),
  output: t.object({ agent_id: t.integer(), path: t.string() }),
  errors,
  idempotent: true,
  expose: {
    mcp: tool('claim_file', {
      toolsets: ['files'],
      use: 'Take a file that has no owner. A file of another agent is moved with svc_transfer_file.'
    }),
    rpc: true,
    cli: { command: 'orch files claim', args: ['agent_id', 'path'] }
  }
})

function claimFileHandler({ orchestrator }: Dependencies): Handler<typeof claimFile> {
  return async ({ agent_id, path }) => {
    const agent = numberOf(agent_id)
    const file = orchestrator.repositoryPath(path)
    await orchestrator.claimFile(agent, file)
    return { agent_id: agent, path: file }
  }
}

const transferFile = defineOperation({
  id: 'orchestrator.transferFile',
  summary: 'Transfer a file to another agent',
  input: t.object({ from_agent: agentId, to_agent: agentId, path }),
  output: t.object({ from_agent: t.integer(), to_agent: t.integer(), path: t.string() }),
  errors,
  expose: {
    mcp: tool('transfer_file', {
      toolsets: ['files'],
      use: 'The old owner must not write it any more. A file without owner: svc_claim_file.'
    })
  }
})

function transferFileHandler({ orchestrator }: Dependencies): Handler<typeof transferFile> {
  return async ({ from_agent, to_agent, path }) => {
    const [from, to, file] = [numberOf(from_agent), numberOf(to_agent), orchestrator.repositoryPath(path)]
    await orchestrator.transferFile(from, to, file)
    return { from_agent: from, to_agent: to, path: file }
  }
}

const checkFileOwner = defineOperation({
  id: 'orchestrator.checkFileOwner',
  summary: 'Show the owner of a file',
  input: t.object({ path }),
  output: t.object({ path: t.string(), agent_id: t.nullable(t.integer()), agent_name: t.nullable(t.string()) }),
  errors,
  effect: 'read',
  expose: {
    mcp: tool('check_file_owner', {
      toolsets: ['files'],
      use: 'Ask before you write a file that another agent may hold. Locks: svc_lock_status.'
    }),
    rpc: true,
    cli: { command: 'orch files owner', args: ['path'], view: { fields: ['path', 'agent_id', 'agent_name'] } }
  }
})

function checkFileOwnerHandler({ orchestrator }: Dependencies): Handler<typeof checkFileOwner> {
  return ({ path }) => {
    const file = orchestrator.repositoryPath(path)
    const owner = orchestrator.fileOwner(file)
    const agent_name = owner === null ? null : (orchestrator.agent(owner)?.name ?? null)
    return { path: file, agent_id: owner, agent_name }
  }
}

const myFiles = defineOperation({
  id: 'orchestrator.myFiles',
  summary: 'List the files that an agent owns',
  input: t.object({ agent_id: agentId }),
  output: t.object({ agent_id: t.integer(), files: t.array(t.string()) }),
  errors,
  effect: 'read',
  expose: {
    mcp: tool('my_files', {
      toolsets: ['files'],
      use: 'All files of one agent. The owner of one file: svc_check_file_owner.'
    })
  }
})

function myFilesHandler({ orchestrator }: Dependencies): Handler<typeof myFiles> {
  return ({ agent_id }) => {
    const { id } = agentOf(orchestrator, agent_id)
    return { agent_id: id, files: [...orchestrator.filesOf(id)] }
  }
}

const lockStatus = defineOperation({
  id: 'orchestrator.lockStatus',
  summary: 'List locked files and their holders',
  input: t.object({ path: t.optional(path) }),
  output: t.object({
    locks: t.array(
      t.object({
        path: t.string(),
        kind: t.enum(['exclusive', 'shared_read']),
        holders: t.array(t.integer()),
        task_id: t.optional(t.integer()),
        acquired_at_ms: t.integer()
      })
    ),
    total_contention: t.integer({ description: 'Number of lock requests that conflicted.' })
  }),
  effect: 'read',
  watch: { on: [TOPICS.locks], minMs: 500 },
  expose: {
    mcp: tool('lock_status', {
      toolsets: ['files'],
      use: 'Use it when a task waits for a file. Owners without locks: svc_file_graph.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/locks' },
    rpc: true,
    cli: { command: 'orch files locks', view: { rows: 'locks', columns: ['path', 'kind', 'holders', 'task_id'] } }
  }
})

function lockStatusHandler({ orchestrator }: Dependencies): Handler<typeof lockStatus> {
  return ({ path }) => {
    const locks = orchestrator.locks(path === undefined ? undefined : normalPath(path))
    return {
      locks: locks.map(lock => ({ ...lock, holders: [...lock.holders] })),
      total_contention: orchestrator.status().total_contention
    }
  }
}

const fileGraph = defineOperation({
  id: 'orchestrator.fileGraph',
  summary: 'Show the agents and tasks that files connect',
  input: t.object({
    limit: t.integer({ default: 500, minimum: 1, maximum: 5_000, description: 'Maximum number of files.' })
  }),
  output: t.object({
    files: t.array(
      t.object({
        path: t.string(),
        owner: t.nullable(t.integer()),
        readers: t.array(t.integer({ description: 'Id of an unfinished task.' })),
        writers: t.array(t.integer())
      })
    )
  }),
  effect: 'read',
  expose: {
    mcp: tool('file_graph', {
      toolsets: ['files'],
      use: 'Overview of many files. For one file use svc_check_file_owner.'
    }),
    rpc: true,
    cli: { command: 'orch files list', view: { rows: 'files', columns: ['path', 'owner', 'readers', 'writers'] } }
  }
})

const OVER = new Set(['Completed', 'Cancelled', 'Failed'])

function fileGraphHandler({ orchestrator }: Dependencies): Handler<typeof fileGraph> {
  return ({ limit }) => {
    const nodes = new Map<string, { readers: number[]; writers: number[] }>()
    const node = (path: string): { readers: number[]; writers: number[] } => {
      const known = nodes.get(path) ?? { readers: [], writers: [] }
      nodes.set(path, known)
      return known
    }
    for (const { id } of orchestrator.agents()) for (const file of orchestrator.filesOf(id)) node(file)
    for (const task of orchestrator.tasks({ limit: Number.MAX_SAFE_INTEGER })) {
      if (OVER.has(task.status.kind)) continue
      for (const { path, access } of task.files) node(path)[access === 'write' ? 'writers' : 'readers'].push(task.id)
    }
    const sorted = [...nodes].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, limit)
    return { files: sorted.map(([path, tasks]) => ({ path, owner: orchestrator.fileOwner(path), ...tasks })) }
  }
}

export const files = [
  bound(claimFile, claimFileHandler),
  bound(transferFile, transferFileHandler),
  bound(checkFileOwner, checkFileOwnerHandler),
  bound(myFiles, myFilesHandler),
  bound(lockStatus, lockStatusHandler),
  bound(fileGraph, fileGraphHandler)
]
