/** Descriptions of command groups, by their full name. Any other group is described by its plugin's summary. */
export const GROUPS: Readonly<Record<string, string>> = {
  a2a: 'Send and read messages between agents',
  config: 'Show and check settings',
  context: 'Store values that sessions share',
  daemon: 'Start, stop and watch the daemon of this project',
  db: 'Back up, restore and migrate databases',
  gpu: 'Install support for the graphics card',
  model: 'Chat with models, serve them and manage adapters',
  openclaw: 'Connect to OpenClaw',
  orch: 'Give tasks to agents and follow them',
  'orch agents': 'List, create, pause and rate agents',
  'orch attention': 'Show and reset the attention budget',
  'orch budget': 'Show and set budgets, costs and tool times',
  'orch files': 'Show and claim files, and list locks',
  'orch messages': 'Ask agents, answer them and broadcast',
  'orch queue': 'Reorder and rebalance queued tasks, and resolve uncertain ones',
  plan: 'Draft plans and execute their steps',
  plugins: 'Manage plugins: list, enable, reload, build',
  questions: 'Answer the questions of agents',
  sessions: 'Show and reset sessions',
  speech: 'Transcribe speech',
  workflow: 'Run workflows and follow them'
}
