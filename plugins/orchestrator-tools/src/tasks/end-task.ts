import { type Attestation, orchestrationErrors, taskLabel } from '@svc/contracts'
import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { attestationFields, done, taskReference } from '../fields.ts'
import { method, tool } from '../tool.ts'
import { change } from './holder.ts'

const errors = orchestrationErrors.specs
const resultText = t.string({ description: 'Result.' })
const view = { text: 'message' }
const answer = 'message'
const message = t.object({ message: resultText })

const completeTask = defineOperation({
  id: 'orchestrator.completeTask',
  summary: 'Complete a task with evidence; its gates may send it back',
  input: t.object({
    task_id: taskReference,
    ...attestationFields,
    attestation: t.optional(
      t.nullable(
        t.object(
          {
            ...attestationFields,
            observation_summary: t.optional(t.nullable(t.string({ minLength: 1, maxLength: 131_072 })))
          },
          { additionalProperties: true }
        ),
        { description: 'The evidence as one object. Its fields override top-level fields.', 'x-hidden': true }
      )
    )
  }),
  output: t.object({
    ok: t.boolean(),
    message: resultText,
    completed: t.optional(t.boolean({ description: 'False if a gate sent the task back to its queue, else absent.' })),
    requeued: t.optional(t.object({ gate: t.string(), reason: t.string(), iteration: t.integer() }))
  }),
  errors,
  expose: {
    mcp: tool('complete_task', {
      answer,
      toolsets: ['default', 'tasks'],
      use: 'For a task that you worked on yourself. Without evidence the gates queue it again. Failed work: svc_fail_task.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/complete', answer },
    rpc: method('complete_task'),
    cli: {
      command: 'orch complete',
      args: ['task_id'],
      aliases: { completion_summary: 'm' },
      view: { answer, success: 'completed' }
    }
  }
})

function completeTaskHandler(dependencies: Dependencies): Handler<typeof completeTask> {
  return ({ task_id, attestation, ...fields }, call) => {
    const merged = { ...fields, ...attestation } as Attestation
    const evidence = Object.keys(merged).length === 0 ? undefined : merged
    const args = { ...fields, ...defined({ attestation }) }
    return change(dependencies, call, { task: task_id, verb: 'complete', args }, async (orchestrator, id) => {
      const { completed, requeued } = await orchestrator.complete(id, evidence)
      if (completed || requeued === undefined) return { ok: true, message: 'task completed' }
      const { gate, reason, iteration } = requeued
      const message = `task queued again by the ${gate} gate (attempt ${iteration}): ${reason}`
      return { ok: true, message, completed, requeued }
    })
  }
}

const failTask = defineOperation({
  id: 'orchestrator.failTask',
  summary: 'Fail a task with a reason',
  input: t.object({
    task_id: taskReference,
    reason: t.string({ minLength: 1, maxLength: 131_072, description: 'Why the task failed.' })
  }),
  output: done,
  errors,
  expose: {
    mcp: tool('fail_task', {
      answer,
      toolsets: ['tasks'],
      use: 'For work that cannot be finished; svc_retry_task queues it again. Work that is not needed: svc_cancel_task.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/fail', answer },
    rpc: method('fail_task'),
    cli: { command: 'orch fail', args: ['task_id', 'reason'], view: { answer } }
  }
})

function failTaskHandler(dependencies: Dependencies): Handler<typeof failTask> {
  return ({ task_id, reason }, call) =>
    change(dependencies, call, { task: task_id, verb: 'fail', args: { reason } }, async (orchestrator, id) => {
      await orchestrator.fail(id, reason)
      return { ok: true, message: 'task failed' }
    })
}

const cancelTask = defineOperation({
  id: 'orchestrator.cancelTask',
  summary: 'Cancel a task, queued or in progress',
  input: t.object({ task_id: taskReference }),
  output: done,
  errors,
  effect: 'destructive',
  expose: {
    mcp: tool('cancel_task', {
      answer,
      toolsets: ['default', 'tasks'],
      use: 'Stops work that is no longer needed. Work that went wrong: svc_fail_task; it can be retried.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/cancel', answer },
    rpc: method('cancel_task'),
    cli: { command: 'orch cancel', args: ['task_id'], view: { answer } }
  }
})

function cancelTaskHandler(dependencies: Dependencies): Handler<typeof cancelTask> {
  return ({ task_id }, call) =>
    change(dependencies, call, { task: task_id, verb: 'cancel', args: {} }, async (orchestrator, id) => {
      await orchestrator.cancel(id)
      return { ok: true, message: 'task cancelled' }
    })
}

const retryTask = defineOperation({
  id: 'orchestrator.retryTask',
  summary: 'Retry a failed task',
  input: t.object({ task_id: taskReference }),
  output: resultText,
  errors,
  expose: {
    mcp: tool('retry_task', {
      toolsets: ['tasks'],
      use: 'For tasks in the state Failed. A doubted task: svc_resolve_doubt.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/retry' },
    rpc: true,
    cli: { command: 'orch retry', args: ['task_id'] }
  }
})

function retryTaskHandler(dependencies: Dependencies): Handler<typeof retryTask> {
  return ({ task_id }, call) =>
    change(dependencies, call, { task: task_id, verb: 'retry', args: {} }, async (orchestrator, id) => {
      await orchestrator.retry(id)
      return 'task queued again'
    })
}

const approveTask = defineOperation({
  id: 'orchestrator.approveTask',
  summary: 'Approve a task that waits for approval',
  input: t.object({ task_id: taskReference }),
  output: message,
  errors,
  expose: {
    mcp: tool('approve_task', {
      toolsets: ['tasks'],
      use: 'Only after a person agreed. A result that was doubted is resolved with svc_resolve_doubt.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/approve' },
    rpc: true,
    cli: { command: 'orch approve', args: ['task_id'], view }
  }
})

function approveTaskHandler(dependencies: Dependencies): Handler<typeof approveTask> {
  return ({ task_id }, call) =>
    change(dependencies, call, { task: task_id, verb: 'approve', args: {} }, async (orchestrator, id) => {
      await orchestrator.approve(id, call.principal.id)
      return { message: `task ${taskLabel(id)} approved` }
    })
}

const doubtTask = defineOperation({
  id: 'orchestrator.doubtTask',
  summary: 'Flag a task or its result as doubtful until a human resolves it',
  input: t.object({
    task_id: taskReference,
    reason: t.optional(t.string({ minLength: 1, maxLength: 4_096, description: 'What is doubtful.' }))
  }),
  output: resultText,
  errors,
  expose: {
    mcp: tool('doubt_task', {
      toolsets: ['tasks'],
      use: 'Use it when a result looks wrong: it blocks the task. You know that it failed: svc_fail_task.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/doubt' },
    rpc: true,
    cli: { command: 'orch queue doubt', args: ['task_id', 'reason'] }
  }
})

function doubtTaskHandler(dependencies: Dependencies): Handler<typeof doubtTask> {
  return ({ task_id, reason }, call) => {
    const args = defined({ reason })
    return change(dependencies, call, { task: task_id, verb: 'doubt', args }, async (orchestrator, id) => {
      await orchestrator.doubt(id, reason ?? null)
      return 'task flagged as suspect; resolution agent escalated'
    })
  }
}

const resolveDoubt = defineOperation({
  id: 'orchestrator.resolveDoubt',
  summary: 'Resolve a doubt: the task continues, or counts as complete',
  input: t.object({
    task_id: taskReference,
    outcome: t.enum(['validated', 'overruled'], {
      description:
        'validated: the doubt was right; the task is queued again. overruled: it was wrong; the task is complete.'
    }),
    report: t.string({ minLength: 1, maxLength: 131_072, description: 'Findings of the review.' })
  }),
  output: message,
  errors,
  expose: {
    mcp: tool('resolve_doubt', {
      toolsets: ['tasks'],
      use: 'Ends what svc_doubt_task began, with your findings. Only after a review.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/resolve' },
    rpc: true,
    cli: { command: 'orch queue resolve', args: ['task_id', 'outcome', 'report'], view }
  }
})

function resolveDoubtHandler(dependencies: Dependencies): Handler<typeof resolveDoubt> {
  return ({ task_id, outcome, report }, call) => {
    const args = { outcome, report }
    return change(dependencies, call, { task: task_id, verb: 'resolve', args }, async (orchestrator, id) => {
      await orchestrator.resolveDoubt(id, outcome, report)
      const result = outcome === 'validated' ? 'queued again' : 'complete: the doubt was overruled'
      return { message: `task ${taskLabel(id)} is ${result}` }
    })
  }
}

export const ends = [
  bound(completeTask, completeTaskHandler),
  bound(failTask, failTaskHandler),
  bound(cancelTask, cancelTaskHandler),
  bound(retryTask, retryTaskHandler),
  bound(approveTask, approveTaskHandler),
  bound(doubtTask, doubtTaskHandler),
  bound(resolveDoubt, resolveDoubtHandler)
]
