import { arrow, box, type Picture, text } from './drawing.ts'

export function taskPicture(): Picture {
  return {
    title: 'The life of a task',
    description:
      'A submitted task is checked by taps that may refuse it, and given to an agent by its score. It is Queued, then InProgress. It is Blocked while it waits for another task, BlockedOnApproval until a person approves it, Doubted until a person resolves the doubt. When the agent completes it, nine gates check the evidence: if one fails, the task is Queued again with a note; if all pass, it is Completed. A failed task can be retried. Every task that has not ended can be cancelled. Each change is in the database before it is confirmed.',
    width: 1100,
    height: 520,
    parts: [
      text(30, 40, 'A task of the orchestrator', 'head'),
      box({
        x: 30,
        y: 70,
        width: 200,
        height: 104,
        title: 'Submit',
        lines: ['MCP, HTTP, JSON-RPC,', 'command line, A2A;', 'taps may refuse it'],
        file: 'state/submit.ts'
      }),
      box({
        x: 30,
        y: 214,
        width: 200,
        height: 104,
        kind: 'kernel',
        title: 'Route',
        lines: ['score of each agent;', 'svc orch explain', 'prints its terms'],
        file: 'routing/router.ts'
      }),
      arrow('M130 174 V210'),
      arrow('M230 266 H286'),
      box({
        x: 290,
        y: 226,
        width: 170,
        height: 80,
        kind: 'plugin',
        title: 'Queued',
        lines: ['waits for its agent'],
        file: 'state/queue.ts'
      }),
      arrow('M460 266 H516'),
      text(466, 258, 'starts'),
      box({
        x: 520,
        y: 226,
        width: 180,
        height: 80,
        kind: 'plugin',
        title: 'InProgress',
        lines: ['files that it writes', 'are locked']
      }),
      arrow('M700 266 H756'),
      text(708, 258, 'done'),
      box({
        x: 760,
        y: 202,
        width: 160,
        height: 128,
        kind: 'kernel',
        title: 'Nine gates',
        lines: ['tests, approval,', 'trust, stubs, links,', 'citations …'],
        file: 'gates/built-in.ts'
      }),
      arrow('M920 266 H956'),
      box({ x: 960, y: 236, width: 116, height: 60, kind: 'plugin', title: 'Completed' }),
      arrow('M840 330 V376 H375 V310'),
      text(388, 368, 'a gate fails: Queued again, with a note'),
      box({ x: 290, y: 74, width: 170, height: 72, kind: 'keep', title: 'Blocked', lines: ['until another ends'] }),
      arrow('M345 146 V222'),
      arrow('M575 226 V190 H420 V150', 'faint'),
      box({
        x: 520,
        y: 74,
        width: 180,
        height: 72,
        kind: 'keep',
        title: 'BlockedOnApproval',
        lines: ['a person approves it']
      }),
      arrow('M610 226 V150', 'faint'),
      arrow('M530 146 V170 H400 V222'),
      box({ x: 760, y: 74, width: 160, height: 72, kind: 'keep', title: 'Doubted', lines: ['validated: Queued'] }),
      arrow('M680 226 V190 H732 V110 H756', 'faint'),
      arrow('M920 110 H1018 V232'),
      text(926, 102, 'overruled'),
      box({ x: 520, y: 410, width: 180, height: 72, kind: 'bad', title: 'Failed', lines: ['by agent or by limit'] }),
      arrow('M680 306 V406', 'faint'),
      arrow('M520 446 H330 V310'),
      text(400, 438, 'retry'),
      box({
        x: 760,
        y: 410,
        width: 316,
        height: 72,
        kind: 'bad',
        title: 'Cancelled',
        lines: ['possible from every state but Completed']
      }),
      text(30, 400, 'Each change is written to'),
      text(30, 417, 'the database before it is'),
      text(30, 434, 'confirmed. After a crash, tasks'),
      text(30, 451, 'in progress are queued again.')
    ]
  }
}
