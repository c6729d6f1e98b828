// What all charts of a page share. The page keeps their data, and only its new end is sent: two
// thousand points a second for every chart would be megabytes otherwise. Colours follow the theme
// of the page, which the server need not know.
window.mosaicChart = {
  data: new Map(),
  drawn: new Set(),

  ready(id, act, tries = 200) {
    const chart = window.getElement?.(id)?.chart;
    if (chart) act(chart);
    else if (tries) setTimeout(() => this.ready(id, act, tries - 1), 50);
  },

  tail(id, parts) {
    const held = this.data.get(id) ?? [];
    parts.forEach(([from, rest], line) => {
      held[line] = (held[line] ?? []).slice(0, from).concat(rest);
    });
    this.data.set(id, held);
    this.ready(id, chart => {
      this.drawn.add(id);
      if (!chart.mosaicPainted) this.paint(chart);
      chart.setOption({series: held.map(data => ({data}))});
    });
  },

  isDark() { return document.body.classList.contains('body--dark'); },

  paint(chart) {
    const dark = this.isDark();
    const text = dark ? '#b6c2d1' : '#475569';
    const line = dark ? '#38414e' : '#d8dee7';
    const axis = {
      axisLabel: {color: text},
      nameTextStyle: {color: text},
      axisLine: {lineStyle: {color: text}},
      splitLine: {lineStyle: {color: line}},
    };
    chart.mosaicPainted = true;
    chart.setOption({
      xAxis: axis,
      yAxis: axis,
      toolbox: {iconStyle: {borderColor: text}},
      tooltip: {
        backgroundColor: dark ? '#1c2129' : '#ffffff',
        borderColor: line,
        textStyle: {color: dark ? '#e5eaf1' : '#1c2129'},
      },
      series: [{}, {}, {markLine: {label: {color: text}}}, {}],
    });
  },

  repaint() {
    for (const id of this.data.keys()) {
      const chart = window.getElement?.(id)?.chart;
      if (chart) this.paint(chart);
      // Data may be here before its chart is: only what was drawn and has gone is forgotten.
      else if (this.drawn.delete(id)) this.data.delete(id);
    }
  },

  zoom(id, start, end) {
    const part = start === null ? {start: 0, end: 100} : {startValue: start, endValue: end};
    this.ready(id, chart => chart.dispatchAction({type: 'dataZoom', ...part}));
  },

  // A drawing that stays sharp on paper: the same options, drawn once more without a canvas.
  svg(id, name) {
    this.ready(id, async chart => {
      const {echarts} = await import('nicegui-echart');
      const size = {width: chart.getWidth(), height: chart.getHeight()};
      const drawn = echarts.init(null, null, {renderer: 'svg', ssr: true, ...size});
      drawn.setOption({...chart.getOption(), toolbox: [], animation: false});
      const file = new Blob([drawn.renderToSVGString()], {type: 'image/svg+xml'});
      drawn.dispose();
      const link = document.createElement('a');
      link.href = URL.createObjectURL(file);
      link.download = name;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  },

  png(id, name) {
    this.ready(id, chart => {
      const link = document.createElement('a');
      link.href = chart.getDataURL({
        pixelRatio: 2,
        backgroundColor: this.isDark() ? '#1c2129' : '#ffffff',
        excludeComponents: ['toolbox'],
      });
      link.download = name;
      link.click();
    });
  },
};

document.addEventListener('DOMContentLoaded', () =>
  new MutationObserver(() => mosaicChart.repaint())
    .observe(document.body, {attributes: true, attributeFilter: ['class']}));

// A megabyte of library, fetched before the first chart asks for it.
window.addEventListener('load', () => import('nicegui-echart'));
