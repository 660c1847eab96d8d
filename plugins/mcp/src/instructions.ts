/** Line of the instructions, and the tools that it names. */
interface Step {
  readonly text: string
  readonly tools: readonly string[]
}

/** The usual work of a model with svc. A line is sent only to clients that may use its tools. */
const STEPS: readonly Step[] = [
  {
    text: 'Begin with svc_orchestrator_status: it shows the agents, the queues and what waits.',
    tools: ['svc_orchestrator_status']
  },
  {
    text: 'Look before you change: svc_git_status and svc_git_diff show what is not committed.',
    tools: ['svc_git_status', 'svc_git_diff']
  },
  { text: 'For a goal of several steps, draft a plan with svc_plan; svc_plan_status follows it.', tools: ['svc_plan'] },
  {
    text: 'For one piece of work, call svc_submit_task with the files that it writes; they are locked for its agent.',
    tools: ['svc_submit_task']
  },
  { text: 'Follow a task with svc_task_status. Do not submit it twice.', tools: ['svc_task_status'] },
  {
    text: 'Check each file that you changed: svc_validate_file; vox source: svc_compiler_check.',
    tools: ['svc_validate_file', 'svc_compiler_check']
  },
  {
    text: 'End your own task with svc_complete_task and evidence; its gates may send it back with a reason.',
    tools: ['svc_complete_task']
  },
  {
    text: 'dashboard_inbox lists what only the user can decide. Do not answer it yourself.',
    tools: ['dashboard_inbox']
  },
  {
    text: 'More tools exist: svc_list_toolsets shows them, svc_enable_toolset adds a group to your list.',
    tools: ['svc_list_toolsets', 'svc_enable_toolset']
  },
  {
    text: 'A failed call says why, and has a hint. svc_describe_tool shows the schemas of a tool.',
    tools: ['svc_describe_tool']
  }
]

/** Returns the instructions for a client: the banner, and the steps whose tools it may use. */
export function instructionsFor(banner: string, mayUse: (tool: string) => boolean): string {
  const steps = STEPS.filter(({ tools }) => tools.every(mayUse))
  return [banner, ...steps.map(({ text }) => `- ${text}`)].join('\n')
}
