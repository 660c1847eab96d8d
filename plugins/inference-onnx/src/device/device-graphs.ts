export const deviceGraphsChoices = ['auto', 'on', 'off'] as const

/** Whether runs that recur are captured on a device, and then replayed. `auto`: where that has been seen to work. */
export type DeviceGraphsChoice = (typeof deviceGraphsChoices)[number]

export function capturesRuns(choice: DeviceGraphsChoice, device: 'cuda' | 'webgpu'): boolean {
  return choice === 'on' || (choice === 'auto' && device === 'webgpu')
}
