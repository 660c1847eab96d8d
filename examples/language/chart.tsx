/** A bar chart, which view.vox imports: components in React can be used like those of the program. */
export function Chart({ values }: { readonly values: readonly number[] }) {
  const highest = Math.max(1, ...values)
  return (
    <svg viewBox={`0 0 ${values.length * 24} 100`} width={values.length * 24} height={100} role="img">
      <title>{`Bar chart of ${values.join(', ')}`}</title>
      {values.map((value, index) => (
        <rect
          // The position identifies a bar.
          key={String(index)}
          x={index * 24}
          y={100 - (value / highest) * 100}
          width={20}
          height={(value / highest) * 100}
          fill="currentColor"
        />
      ))}
    </svg>
  )
}
